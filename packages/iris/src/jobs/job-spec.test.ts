import { describe, expect, test } from "vitest";
import { entry } from "../platform.js";
import { checkJobSpec, resolveJobSpec } from "./job-spec.js";

const work = entry(import.meta.url, "work");

describe("a job's spec", () => {
  test("has defaults for all but its name and entry", () => {
    expect(checkJobSpec({ name: "train", entry: work })).toEqual({
      name: "train",
      entry: work,
      args: [],
      resources: { cpu: 1, memoryBytes: 0, diskBytes: 0 },
      ports: [],
      replicas: 1,
      env: {},
      isolation: "fresh",
      maxRetriesFailure: 0,
      maxRetriesPreemption: 100,
      maxTaskFailures: 0,
      backoff: { initialMs: 1_000, factor: 2, maxMs: 300_000 },
    });
  });

  test.each(["first-lm", "first-lm/train", "gpt2_small_demo", "a1/b2/c3"])("may be called %s", (name) => {
    expect(checkJobSpec({ name, entry: work }).name).toBe(name);
  });

  test.each(["", "/train", "train/", "Train", "1st", "a b", "a/7", "../up", "a--b", "a~2"])('may not be called "%s"', (name) => {
    expect(() => checkJobSpec({ name, entry: work })).toThrow(expect.objectContaining({ code: "IRIS_BAD_JOB", message: expect.stringContaining("name: lower-case words") as string }));
  });

  test.each([
    [{ replicas: 0 }, "replicas"],
    [{ resources: { cpu: -1 } }, "resources.cpu"],
    [{ resources: { cpus: 1 } }, "cpus"],
    [{ ports: ["a", "a"] }, "ports: each name once"],
    [{ ports: Array.from({ length: 65 }, (_, index) => `p${String(index)}`) }, "ports"],
    [{ timeoutMs: 0 }, "timeoutMs"],
    [{ name: "a".repeat(1_025) }, "name"],
    [{ env: { "": "x" } }, "env: names of variables"],
    [{ env: { "A=B": "x" } }, "env: names of variables"],
    [{ env: { "A\0": "x" } }, "env: names of variables"],
    [{ env: { A: "x\0y" } }, "env.A"],
    [{ setup: ["a\0"] }, "setup.0"],
    [{ entry: undefined, command: ["a", "b\0"] }, "command.1"],
    [{ entry: undefined, command: [""] }, "command: the program's name"],
    [{ retries: 1 }, "retries"],
    [{ args: [() => 1] }, "args must be plain data"],
    [{ command: ["true"] }, "name either an entry or a command"],
    [{ resources: { device: { kind: "cpu" } } }, "resources.device.kind"],
    [{ resources: { device: { kind: "gpu", count: 0 } } }, "resources.device.count"],
    [{ constraints: [{ attribute: "region", op: "LIKE", value: "eu" }] }, "constraints.0.op"],
    [{ constraints: [{ attribute: "speed", op: "GT", value: "2" }] }, "constraints.0.value"],
    [{ constraints: [{ attribute: "zone", op: "EXISTS", value: "a" }] }, "value"],
    [{ band: "URGENT" }, "band"],
    [{ gang: { groupBy: "" } }, "gang.groupBy"],
    [{ gang: {}, maxTaskFailures: 1 }, "maxTaskFailures: 0 for a gang"],
    [{ backoff: { factor: 0.5 } }, "backoff.factor"],
  ])("%j is refused, naming the field", (fields, named) => {
    expect(() => checkJobSpec({ name: "train", entry: work, ...(fields as object) })).toThrow(expect.objectContaining({ code: "IRIS_BAD_JOB", message: expect.stringContaining(named) as string }));
  });

  test("may be a command instead of an entry, and not with arguments beside it", () => {
    expect(checkJobSpec({ name: "train", command: ["python", "train.py"] })).toMatchObject({ command: ["python", "train.py"], args: [] });
    expect(() => checkJobSpec({ name: "train" })).toThrow("name either an entry or a command");
    expect(() => checkJobSpec({ name: "train", command: ["true"], args: [1] })).toThrow("a command's arguments stand in command");
  });

  test("a device is one, of any variant, unless it says otherwise", () => {
    expect(checkJobSpec({ name: "train", entry: work, resources: { device: { kind: "tpu" } } }).resources.device).toEqual({ kind: "tpu", count: 1 });
  });

  test("comes from anything that has a toJob", async () => {
    expect((await resolveJobSpec({ toJob: async () => ({ name: "later", entry: work }) })).name).toBe("later");
  });
});
