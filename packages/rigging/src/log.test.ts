import { expect, test } from "vitest";
import { createLogger, type Logger, type LoggerOptions } from "./log.js";
import { Secret } from "./secrets.js";

const at = new Date("2030-01-02T09:15:02.500Z");

function capture(options: LoggerOptions, use: (log: Logger) => void): string {
  let text = "";
  use(createLogger({ ...options, now: () => at, write: (line) => void (text += line) }));
  return text;
}

test("text: time, level, message, fields", () => {
  const text = capture({}, (log) => {
    log.info("step done", { step: 3, loss: 3.25, name: "a b", nothing: undefined });
    log.warn("slow");
  });
  expect(text).toBe('09:15:02 info  step done step=3 loss=3.25 name="a b"\n09:15:02 warn  slow\n');
});

test("json: one object a line that parses; time, level and message cannot be overwritten by fields", () => {
  const text = capture({ format: "json" }, (log) => {
    log.error("failed\nbadly", { level: "info", big: 1n, bad: NaN, error: Object.assign(new TypeError("no"), { code: "X" }) });
  });
  expect(text.endsWith("\n")).toBe(true);
  expect(text.trimEnd()).not.toContain("\n");
  expect(JSON.parse(text)).toEqual({
    time: "2030-01-02T09:15:02.500Z",
    level: "error",
    message: "failed\nbadly",
    big: "1",
    bad: "NaN",
    error: { name: "TypeError", code: "X", message: "no" },
  });
});

test("levels below the threshold are dropped", () => {
  const use = (log: Logger): void => {
    log.debug("d");
    log.info("i");
    log.warn("w");
    log.error("e");
  };
  expect(capture({}, use).match(/\b[diwe]\n/g)).toEqual(["i\n", "w\n", "e\n"]);
  expect(capture({ level: "error" }, use)).toContain("error e\n");
  expect(capture({ level: "debug" }, use).split("\n")).toHaveLength(5);
});

test("with() adds fields, the nearest wins, the parent is unchanged", () => {
  const text = capture({}, (log) => {
    log.with({ job: "a", task: 1 }).with({ task: 2 }).info("m");
    log.info("n");
  });
  expect(text).toBe("09:15:02 info  m job=a task=2\n09:15:02 info  n\n");
});

test("neither message nor fields can start a second line or send terminal codes", () => {
  const text = capture({}, (log) => {
    log.info("one\ntwo\u001b[31m\u009b2J", { field: "x\ny", bare: "\u001b[2J", list: ["\u009b"] });
  });
  expect(text).toBe('09:15:02 info  one\\ntwo\\u001b[31m\\u009b2J field="x\\ny" bare=\\u001b[2J list="[\\"\\u009b\\"]"\n');
});

test("secrets print redacted, and what cannot be written does not throw", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  for (const format of ["text", "json"] as const) {
    const text = capture({ format }, (log) => {
      log.info("m", { key: new Secret("key", "hunter2"), loop });
    });
    expect(text).not.toContain("hunter2");
    expect(text).toContain("cannot be written");
  }
});
