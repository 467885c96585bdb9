import { Writable } from "node:stream";

import { describe, expect, it } from "vitest";

import type { ExperimentEvent } from "../events.js";
import { createJsonReporter } from "./json-reporter.js";
import { createPlainReporter } from "./plain-reporter.js";
import { createTerminalReporter } from "./terminal-reporter.js";

const fingerprint = "f".repeat(64);
const events: ExperimentEvent[] = [
  { event: "run-started", experiment: "toy", run: "r1", cluster: "local", options: {}, prefix: "/store", steps: ["texts", "train"] },
  { event: "step-finished", step: "texts", cached: true, fingerprint, digest: fingerprint, directory: "/store/texts", seconds: 0, result: {} },
  { event: "step-started", step: "train", fingerprint, reason: "no artifact", resumed: true },
  { event: "message", step: "train", message: "on two threads" },
  { event: "progress", step: "train", done: 1200, total: 2400, unit: "steps", detail: "loss 4.200", secondsLeft: 125 },
  { event: "metrics", step: "train", metrics: { loss: 4.2 } },
  { event: "step-finished", step: "train", cached: false, fingerprint, digest: fingerprint, directory: "/store/train", seconds: 72.5, result: {} },
  { event: "result", experiment: "toy", seconds: 73, results: {}, lines: ["loss: 4.2", "sample: once"] },
];

function capture(): { stream: Writable & { isTTY: boolean }; text: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY: true }), text: () => text };
}

describe("reporters", () => {
  it("json: every event is one line of JSON with its time", () => {
    const out = capture();
    const reporter = createJsonReporter({ stdout: out.stream }, () => new Date(0));
    for (const event of events) reporter.emit(event);
    const lines = out.text().trimEnd().split("\n").map((line): unknown => JSON.parse(line));
    expect(lines).toEqual(events.map((event) => ({ ...event, time: "1970-01-01T00:00:00.000Z" })));
  });

  it("plain: one line a fact, progress every five seconds, results apart", () => {
    const [out, err] = [capture(), capture()];
    let now = 0;
    const reporter = createPlainReporter({ stdout: out.stream, stderr: err.stream }, () => now);
    for (const event of events) {
      reporter.emit(event);
      if (event.event === "message") now += 6000;
      if (event.event === "progress") reporter.emit({ ...event, done: 1201 });
    }
    expect(out.text()).toBe("loss: 4.2\nsample: once\n");
    expect(err.text().split("\n")).toEqual([
      "toy: texts, train (in /store)",
      "texts: cached",
      "train: continues",
      "train: on two threads",
      "train: 1,200 of 2,400 steps, loss 4.200, 2 min 5 s left",
      "train: done in 1 min 13 s",
      "toy: finished in 1 min 13 s",
      "",
    ]);
  });

  it("terminal: text written once the bar is cleared is not drawn over", () => {
    const [out, err] = [capture(), capture()];
    const reporter = createTerminalReporter({ stdout: out.stream, stderr: err.stream }, false);
    for (const event of events.slice(0, 5)) reporter.emit(event);
    reporter.clear();
    const before = err.text().length;
    reporter.emit({ event: "error", code: "MARIN_INTERRUPTED", message: "interrupted in step train", exitCode: 130, data: {} });
    reporter.close();
    expect(err.text().slice(before)).toBe("interrupted in step train\n");
  });

  it.each([true, false])("terminal: a bar for the running step, a line for each finished one; color %s", (color) => {
    const [out, err] = [capture(), capture()];
    const reporter = createTerminalReporter({ stdout: out.stream, stderr: err.stream }, color);
    for (const event of events) reporter.emit(event);
    reporter.close();
    expect(out.text()).toBe("loss: 4.2\nsample: once\n");
    expect(err.text()).toMatch(/━+.*─+.* 50% 1,200 of 2,400 steps, loss 4\.200, 2 min 5 s left/);
    // eslint-disable-next-line no-control-regex -- the escape sequences are what is looked for
    expect(/\u001b\[\d+m/.test(err.text())).toBe(color);
    // eslint-disable-next-line no-control-regex -- as above
    expect(err.text().match(/\u001b\[\?25[lh]/g)?.at(-1)).toBe("\u001b[?25h");
  });
});
