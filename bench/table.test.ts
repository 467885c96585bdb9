import { describe, expect, it } from "vitest";
import { compare, summarize, type Side } from "./comparison.js";
import { BENCH_MODEL_NAMES, BENCH_MODELS } from "./models.js";
import { formatTrainRow, formatWorkload } from "./table.js";
import { invalidPeers } from "./train.js";
import { sizeOf } from "./train-workload.js";

function sideOf(milliseconds: number, more: object = {}): Side {
  const report = { version: `side of ${milliseconds}`, threads: 1, losses: [5, 4, 3, 2, 1], stepMilliseconds: [milliseconds, milliseconds], peakBytes: 100 * 2 ** 20, ...more };
  return summarize([report], 0, { tokensPerStep: 1024, flopsPerToken: 1e7, peakFlops: 1e11 });
}

describe("a row of the training benchmark for people", () => {
  const compiled = sideOf(200, { compileMilliseconds: 450, outsideMilliseconds: [2, 2] });
  const row = {
    peer: "torch", rounds: 3, steps: 12, warmup: 4, invalid: null, void: null, calibration: { engine: { oneThread: 100, twoThreads: 190 } }, ...compare(compiled, sideOf(250)),
  } as const;

  it("lists both sides with every figure that they have", () => {
    const text = formatTrainRow(row);
    expect(text).toMatch(/side of 200 +200 ms +200 ms +5120 +51 % +100 MiB +0\.45 s +1\.0 %/);
    expect(text).toMatch(/side of 250 +250 ms +250 ms +4096 +41 % +100 MiB +- +-/);
    expect(text).toContain("speed 1.25x by medians, 1.25x by minima; memory 1.00x");
    expect(text).toContain("engine 100 / 190");
    expect(text).toContain("losses of 5 steps agree within 0.001");
  });

  it("says when it is invalid or void, and why a peer was not measured", () => {
    const bad = formatTrainRow({ ...row, invalid: "losses of step 3 differ", void: "two threads" });
    expect(bad).toContain("INVALID: losses of step 3 differ");
    expect(bad).toContain("VOID: two threads");
    expect(bad).not.toContain("agree");
    expect(formatTrainRow({ peer: "torch", unmeasured: "no PyTorch" })).toBe("against torch\n  unmeasured: no PyTorch");
  });

  it("fails the benchmark when it is invalid, not when it is void or unmeasured", () => {
    const rows = [row, { ...row, peer: "jax", invalid: "losses differ" }, { ...row, peer: "jax-js", void: "two threads" }, { peer: "tfjs-wasm", unmeasured: "no memory" }] as const;
    expect(invalidPeers(rows)).toEqual(["jax"]);
    expect(invalidPeers(rows.slice(2))).toEqual([]);
  });
});

describe("the benchmark's models", () => {
  it.each(BENCH_MODEL_NAMES)("%s has the parameters that its description states", (name) => {
    const { shape, summary } = BENCH_MODELS[name];
    const { parameters } = sizeOf(shape);
    const stated = /([\d.]+) M\b|(124)M/.exec(summary);
    expect(Math.abs(parameters / 1e6 - Number(stated?.[1] ?? stated?.[2]))).toBeLessThan(0.5);
    expect(formatWorkload(name, shape, sizeOf(shape))).toContain(`${(parameters / 1e6).toFixed(1)} M parameters`);
  });
});
