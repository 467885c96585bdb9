import { h } from "preact";

import { bytes, count, duration } from "./format.js";
import { bar, barred, facts, foreign, section, table, time, type Markup } from "./markup.js";
import type { RunFacts } from "./run-facts.js";

/** Times, machines and people: what differs from run to run. */
export function runSection({ artifacts, machine }: RunFacts): Markup {
  const longest = Math.max(...artifacts.map(({ provenance }) => provenance.durationMs), 1);
  const rows = artifacts.map(({ step, provenance: { durationMs, startedAt, user, host } }) => ({
    cells: [barred(foreign(step), bar(durationMs / longest, { tone: "other" })), duration(durationMs), time(startedAt), foreign(user === "" ? host : `${user} on ${host}`)],
  }));
  return section(
    "run",
    "This run",
    h("p", null, "How the artifacts came about. An artifact that was in the store already keeps the time and machine of the run that made it; nothing of this decides an artifact."),
    table("Time, person and machine of each step", [{ head: "Step" }, { head: "Duration", numeric: true }, { head: "Started" }, { head: "By" }], rows, "bars run"),
    commands(artifacts),
    h("h3", null, "Machine that made this page"),
    facts([
      ["Host", foreign(machine.host)],
      ["Processor", foreign(machine.processor === "" ? machine.system : machine.processor)],
      ["Cores", count(machine.cores)],
      ["Memory", bytes(machine.memoryBytes)],
      ["System", machine.system],
      ["Node.js", machine.node],
    ]),
  );
}

/** The commands that made the artifacts, each with the state of the sources and the steps it made. */
function commands(artifacts: RunFacts["artifacts"]): Markup {
  const groups = new Map<string, { readonly commit: string; readonly command: string; readonly steps: string[] }>();
  for (const { step, provenance } of artifacts) {
    const commit = provenance.commit === null ? "no repository" : `${provenance.commit}${provenance.dirty ? " and changes since" : ""}`;
    const command = provenance.arguments.length === 0 ? "no arguments" : provenance.arguments.map(quoted).join(" ");
    const key = JSON.stringify([commit, command]);
    const group = groups.get(key) ?? { commit, command, steps: [] };
    group.steps.push(step);
    groups.set(key, group);
  }
  const rows = [...groups.values()].map(({ commit, command, steps }) => ({ cells: [foreign(steps.join(", ")), h("code", { class: "wrap" }, foreign(command)), h("code", { class: "wrap" }, foreign(commit))] }));
  return [h("h3", null, "Commands"), table("Arguments and commit of each step", [{ head: "Steps" }, { head: "Arguments" }, { head: "Commit" }], rows)];
}

/** As one would type it. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}
