import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RandomKey, selectEngine } from "@marin/levanter";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, describe, expect, it } from "vitest";
import { BENCH_MODELS, modelOf } from "./models.js";
import { loadWorkload } from "./peers/protocol.js";
import { timed } from "./peers/timed-engine.js";
import { failure, findPython, peerEnvironment } from "./processes.js";
import { repetitionsOf } from "./train.js";
import { writeTrainWorkload } from "./train-workload.js";

describe("how often a peer is measured", () => {
  it("is the model's own unless the command line says otherwise", () => {
    expect(repetitionsOf("torch", { model: "tutorial" })).toEqual({ rounds: 3, steps: 12, warmup: 4 });
    expect(repetitionsOf("torch", { model: "tutorial", rounds: 1, steps: 7 })).toEqual({ rounds: 1, steps: 7, warmup: 4 });
  });

  it("is limited for slow peers, to no fewer steps than have their losses compared", () => {
    expect(repetitionsOf("jax-js", { model: "tutorial", rounds: 9, steps: 40 })).toEqual({ rounds: 2, steps: 4, warmup: 2 });
    expect(repetitionsOf("jax-js", { model: "tutorial", steps: 1, warmup: 4 })).toEqual({ rounds: 2, steps: 3, warmup: 2 });
  });
});

describe("the environment of a measured program", () => {
  it("sets the threads, and leaves OpenBLAS the choice of its kernel", () => {
    const environment = peerEnvironment({ PATH: "/bin", OPENBLAS_CORETYPE: "Haswell", OPENBLAS_L2_SIZE: "1" }, 2);
    expect(environment).toMatchObject({ PATH: "/bin", OMP_NUM_THREADS: "2", OPENBLAS_NUM_THREADS: "2", MKL_NUM_THREADS: "2" });
    expect(Object.keys(environment).filter((name) => /CORETYPE|L2_SIZE/.test(name))).toEqual([]);
  });

  it("keeps the line of a failed program that says why: not Node's stack, nor its version below", () => {
    const node = "/x/index.js:1\nthrow it\n^\n\nRangeError: memory cannot grow\n    at f (/x/index.js:1:1)\n\nNode.js v20.20.2\n";
    expect(failure({ stderr: node, message: "Command failed" })).toBe("RangeError: memory cannot grow");
    expect(failure({ stderr: "/x/index.js:1\n^\n\n[Error: Out of Memory Error: could not allocate block]\n\nNode.js v20.20.2\n" })).toBe("Error: Out of Memory Error: could not allocate block");
    expect(failure({ stderr: 'Traceback\n  File "x.py"\nModuleNotFoundError: No module named \'torch\'\n' })).toBe("ModuleNotFoundError: No module named 'torch'");
    expect(failure(new Error("spawn ENOENT"))).toBe("spawn ENOENT");
  });

  it("says which interpreters were tried when none has the package", async () => {
    expect(await findPython("torch", ["/nowhere/python"], "install it")).toEqual({ reason: expect.stringMatching(/^\/nowhere\/python: .*; install it$/) as string });
    expect(await findPython("torch", [], "install it")).toEqual({ reason: "install it" });
  });
});

describe("a workload", () => {
  const directory = mkdtempSync(join(tmpdir(), "marin-bench-test-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  const shape = { ...BENCH_MODELS["llama-20m"].shape, vocabulary: 64, width: 24, inner: 16, layers: 1, batch: 2, length: 8 };

  it("comes back as it was written: the model's initial values, and tokens with their successors", async () => {
    await writeTrainWorkload(directory, shape);
    const { weights, parameters, batch } = loadWorkload(directory);
    const expected = modelOf(shape).initialize(RandomKey.fromSeed(0).fold("weights"));
    expect(Object.fromEntries([...weights()].map(([name, values]) => [name, values]))).toEqual(expected);
    expect(parameters.filter(({ decayed }) => !decayed).map(({ name }) => name)).toContain("model.norm.weight");
    const { tokens, targets } = batch(17);
    expect(batch(1)).toEqual({ tokens, targets });
    expect(tokens.subarray(1, 8)).toEqual(targets.subarray(0, 7));
    expect(tokens.subarray(9, 16)).toEqual(targets.subarray(8, 15));
    expect(Math.max(...tokens)).toBeLessThan(64);
  });
});

describe("an engine whose time is taken", () => {
  it("computes the same, and says how long it compiled and ran", async () => {
    const { engine, compileMilliseconds, take } = timed(await selectEngine({ engine: "onnx", threads: 1 }));
    const vector = { shape: [4], dtype: "float32" } as const;
    const program = await engine.compile("double", ({ x }) => ({ y: tf.mul(x as tf.Tensor, 2) }), { x: vector });
    const [inputs, outputs] = [engine.allocate({ x: vector }), engine.allocate({ y: vector })];
    inputs.buffers["x"]?.write(Float32Array.of(1, 2, 3, 4));
    expect(take()).toEqual({ inside: 0, programs: {} });
    await program.run(inputs.buffers, outputs.buffers);
    expect(await outputs.buffers["y"]?.read()).toEqual(Float32Array.of(2, 4, 6, 8));
    const { inside, programs } = take();
    expect(inside).toBeGreaterThan(0);
    expect(programs["double"]).toBeCloseTo(inside, 6);
    expect(compileMilliseconds()).toBeGreaterThan(0);
    expect(program.name).toBe("double");
    await engine.dispose();
  });
});
