import { appendFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostState } from "../../test/host-state.js";
import { Checkpointer } from "./checkpointer.js";
import { HookJournal } from "./hook-journal.js";

let root: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-hooks-"));
});
afterAll(() => rm(root, { recursive: true }));

const STEPS = 12;
/** Hooks by name, with their cadence. */
const HOOKS = { evaluate: 4, export: 6 } as const;

/** A run with a checkpoint every 4 steps, made before the step's hooks; `crash` is asked before and after each hook. Returns nothing when it crashed. */
async function run(directory: string, ran: string[], crash: (at: string) => boolean): Promise<"crashed" | "finished"> {
  const checkpointer = await Checkpointer.open({ directory: join(directory, "checkpoints"), permanentEvery: [{ every: 4 }], identity: {}, engine: { fingerprint: "e" } });
  const newest = await checkpointer.newest();
  const state = hostState(0);
  const due = newest === undefined ? [] : ((await checkpointer.restore(newest, state)) as { due: string[] }).due;
  const start = newest?.metadata.step ?? 0;
  const journal = await HookJournal.open(join(directory, "hooks.jsonl"), start, due);
  try {
    for (let step = start; ; step++) {
      if (step > start) {
        journal.begin(step, Object.entries(HOOKS).flatMap(([name, every]) => (step % every === 0 || step === STEPS ? [name] : [])));
        await checkpointer.afterStep({ step, groups: state.groups, state: { due: journal.pending } }, { force: step === STEPS });
        await checkpointer.settle();
      }
      for (const hook of journal.pending) {
        if (crash(`before ${hook} of ${String(step)}`)) return "crashed";
        ran.push(`${hook} of ${String(step)}`);
        await journal.done(hook);
        if (crash(`after ${hook} of ${String(step)}`)) return "crashed";
      }
      if (step === STEPS) return "finished";
    }
  } finally {
    await journal.close();
  }
}

const ALL = ["evaluate of 4", "export of 6", "evaluate of 8", "evaluate of 12", "export of 12"];

describe("hooks of a crashed step", () => {
  it.each([
    ["before evaluate of 4", ALL],
    ["after evaluate of 4", ALL],
    ["before evaluate of 12", ALL],
    ["after evaluate of 12", ALL],
    ["before export of 12", ALL],
    // The checkpoint after it was not made yet: its step is made again, and so is what followed it.
    ["after export of 6", ["evaluate of 4", "export of 6", "export of 6", "evaluate of 8", "evaluate of 12", "export of 12"]],
  ])("%s run after the resume, and none that had ended runs again", async (at, expected) => {
    const directory = join(root, String(next++));
    await mkdir(directory);
    const ran: string[] = [];
    expect(await run(directory, ran, (moment) => moment === at)).toBe("crashed");
    expect(await run(directory, ran, () => false)).toBe("finished");
    expect(ran).toEqual(expected);
    expect(await run(directory, ran, () => false)).toBe("finished");
    expect(ran).toEqual(expected);
  });

  it("survive a line that was cut short, and a crash in the crash's own repair", async () => {
    const path = join(root, "cut.jsonl");
    const journal = await HookJournal.open(path, 0, []);
    expect(journal.pending).toEqual([]);
    journal.begin(4, ["evaluate", "export", "sample"]);
    await journal.done("evaluate");
    await journal.close();
    await appendFile(path, '{"step":4,"hook":"exp');
    for (let repeat = 0; repeat < 2; repeat++) {
      const resumed = await HookJournal.open(path, 4, ["evaluate", "export", "sample"]);
      expect(resumed.pending).toEqual(["export", "sample"]);
      await resumed.close();
      expect(await readFile(path, "utf8")).toBe('{"step":4,"hook":"evaluate"}\n');
    }
    await (await HookJournal.open(path, 2, [])).close();
    expect(await readFile(path, "utf8")).toBe("");
  });
});
