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
    [{ timeoutMs: 0 }, "timeoutMs"],
    [{ retries: 1 }, "retries"],
    [{ args: [() => 1] }, "args must be plain data"],
  ])("%j is refused, naming the field", (fields, named) => {
    expect(() => checkJobSpec({ name: "train", entry: work, ...(fields as object) })).toThrow(expect.objectContaining({ code: "IRIS_BAD_JOB", message: expect.stringContaining(named) as string }));
  });

  test("comes from anything that has a toJob", async () => {
    expect((await resolveJobSpec({ toJob: async () => ({ name: "later", entry: work }) })).name).toBe("later");
  });
});
