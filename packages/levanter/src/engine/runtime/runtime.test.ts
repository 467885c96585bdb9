import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import type { TensorData } from "../types.js";
import { koffiRuntime } from "./koffi-session.js";
import { AlignedArena } from "./memory.js";
import { nodeRuntime } from "./node-session.js";
import { liveHandles } from "./ort-handles.js";
import type { BoundTensor, Runtime } from "./runtime.js";
import { tinyModel } from "../../../test/runtime/tiny-model.js";
import type { TinyValue } from "../../../test/runtime/tiny-model.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const float = (name: string, ...shape: (number | string)[]): TinyValue => ({ name, dtype: "float32", shape });
const tensor = (data: TensorData, ...shape: number[]): BoundTensor => ({
  data,
  shape,
  dtype: data instanceof Float32Array ? "float32" : data instanceof Int32Array ? "int32" : "bool",
});

const product = tinyModel([float("a", "m", 3), float("b", 3, 2)], [float("c", "m", 2)], [{ op: "MatMul", inputs: ["a", "b"], outputs: ["c"] }]);
const negation = tinyModel([float("x", "n")], [float("y", "n")], [{ op: "Neg", inputs: ["x"], outputs: ["y"] }]);

const before = liveHandles();
afterAll(() => {
  expect(liveHandles()).toEqual(before);
});

const runtimes: readonly [string, () => Runtime][] = [
  ["koffi", koffiRuntime],
  ["node", nodeRuntime],
];

describe.each(runtimes)("the %s runtime", (_kind, open) => {
  const runtime = open();

  test("names the pinned version", () => {
    expect(runtime.version).toBe("1.30.0");
  });

  test("writes results into the bound memory, for every extent of a symbolic dimension", async () => {
    const session = await runtime.createSession(product, { threads: 1 });
    const b = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), 3, 2);
    for (const rows of [1, 4, 2]) {
      const a = Float32Array.from({ length: rows * 3 }, (_, i) => i);
      const c = new Float32Array(rows * 2).fill(Number.NaN);
      const binding = session.bind({ a: tensor(a, rows, 3), b }, { c: tensor(c, rows, 2) });
      await binding.run();
      const expected = Array.from({ length: rows }, (_, r) => {
        const [x, y, z] = [3 * r, 3 * r + 1, 3 * r + 2] as const;
        return [x + 3 * y + 5 * z, 2 * x + 4 * y + 6 * z];
      });
      expect([...c]).toEqual(expected.flat());
      binding.dispose();
    }
    session.dispose();
  });

  test("reads the bound memory afresh at each run", async () => {
    const session = await runtime.createSession(negation, { threads: 1 });
    const x = new Float32Array(5);
    const y = new Float32Array(5);
    const binding = session.bind({ x: tensor(x, 5) }, { y: tensor(y, 5) });
    for (let round = 1; round <= 3; round++) {
      x.fill(round);
      await binding.run();
      expect([...y]).toEqual([-round, -round, -round, -round, -round]);
    }
    session.dispose();
  });

  test("carries int32, bool, scalars and empty tensors", async () => {
    const model = tinyModel(
      [{ name: "table", dtype: "float32", shape: [4] }, { name: "at", dtype: "int32", shape: ["k"] }, { name: "flag", dtype: "bool", shape: ["k"] }, float("scale")],
      [float("picked", "k"), { name: "not", dtype: "bool", shape: ["k"] }],
      [
        { op: "Gather", inputs: ["table", "at"], outputs: ["g"] },
        { op: "Mul", inputs: ["g", "scale"], outputs: ["picked"] },
        { op: "Not", inputs: ["flag"], outputs: ["not"] },
      ],
    );
    const session = await runtime.createSession(model, { threads: 1 });
    for (const at of [Int32Array.of(3, 0, 3), new Int32Array(0)]) {
      const k = at.length;
      const picked = new Float32Array(k);
      const not = new Uint8Array(k).fill(7);
      const inputs = { table: tensor(Float32Array.of(1, 2, 3, 4), 4), at: tensor(at, k), flag: tensor(new Uint8Array(k).fill(1), k), scale: tensor(Float32Array.of(10)) };
      await session.bind(inputs, { picked: tensor(picked, k), not: tensor(not, k) }).run();
      expect([...picked]).toEqual(k === 0 ? [] : [40, 10, 40]);
      expect([...not]).toEqual(k === 0 ? [] : [0, 0, 0]);
    }
    session.dispose();
  });

  test("gives the runtime's own message when a graph is refused or a run fails", async () => {
    await expect(runtime.createSession(new Uint8Array([1, 2, 3]), { threads: 1 })).rejects.toMatchObject({
      code: "LEVANTER_RUNTIME",
      message: expect.stringMatching(/could not compile the graph: .*protobuf/i) as string,
    });
    const unknown = tinyModel([float("x", 1)], [float("y", 1)], [{ op: "NoSuchOperator", inputs: ["x"], outputs: ["y"] }]);
    await expect(runtime.createSession(unknown, { threads: 1 })).rejects.toMatchObject({ code: "LEVANTER_RUNTIME", message: expect.stringContaining("NoSuchOperator") as string });

    const session = await runtime.createSession(product, { threads: 1 });
    const wrong = session.bind({ a: tensor(new Float32Array(4), 2, 2), b: tensor(new Float32Array(6), 3, 2) }, { c: tensor(new Float32Array(4), 2, 2) });
    await expect(wrong.run()).rejects.toMatchObject({ code: "LEVANTER_RUNTIME", message: expect.stringMatching(/could not run the graph: .*dimension/i) as string });
    const missing = session.bind({ b: tensor(new Float32Array(6), 3, 2) }, { c: tensor(new Float32Array(2), 1, 2) });
    await expect(missing.run()).rejects.toMatchObject({ code: "LEVANTER_RUNTIME" });
    session.dispose();
  });

  test("refuses memory that does not fit its shape, naming both", async () => {
    const session = await runtime.createSession(negation, { threads: 1 });
    expect(() => session.bind({ x: tensor(new Float32Array(3), 4) }, { y: tensor(new Float32Array(4), 4) })).toThrow(/"x" of shape \[4\] needs 4 elements; its memory holds 3/);
    expect(() => session.bind({ x: tensor(new Float32Array(4), 4) }, { y: tensor(new Float32Array(3), 4) })).toThrow(/"y"/);
    session.dispose();
  });

  test("ends runs under way before it releases what they use, and refuses later ones", async () => {
    const session = await runtime.createSession(negation, { threads: 1 });
    const n = 1 << 20;
    const x = new Float32Array(n).fill(2);
    const y = new Float32Array(n);
    const binding = session.bind({ x: tensor(x, n) }, { y: tensor(y, n) });
    const run = binding.run();
    session.dispose();
    binding.dispose();
    session.dispose();
    await run;
    expect(y.every((value) => value === -2)).toBe(true);
    await expect(binding.run()).rejects.toMatchObject({ code: "LEVANTER_RELEASED" });
    expect(() => session.bind({}, {})).toThrow(expect.objectContaining({ code: "LEVANTER_RELEASED" }) as Error);
  });

  test("holds the memory of its bindings under forced garbage collection", async () => {
    const session = await runtime.createSession(negation, { threads: 2 });
    const n = 10_000;
    // Nothing but the binding keeps the inputs.
    const calls = Array.from({ length: 40 }, (_, i) => {
      const input = new AlignedArena({ x: { shape: [n], dtype: "float32" } }, runtime.addressOf).view("x").fill(i + 1);
      const y = new Float32Array(n);
      return { y, expected: -(i + 1), binding: session.bind({ x: tensor(input, n) }, { y: tensor(y, n) }) };
    });
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      const churn = Array.from({ length: 200 }, () => new Float32Array(n).fill(Number.NaN));
      const runs = calls.map((call) => call.binding.run());
      collectGarbage();
      await Promise.all(runs);
      expect(churn).toHaveLength(200);
      for (const { y, expected } of calls) {
        expect(y.every((value) => value === expected)).toBe(true);
        y.fill(0);
      }
    }
    session.dispose();
  });
});

test("both runtimes give the same bits", async () => {
  const n = 33;
  const model = tinyModel([float("a", n, n), float("b", n, n)], [float("c", n, n)], [
    { op: "MatMul", inputs: ["a", "b"], outputs: ["p"] },
    { op: "Softmax", inputs: ["p"], outputs: ["c"] },
  ]);
  const specs = { a: { shape: [n, n], dtype: "float32" }, b: { shape: [n, n], dtype: "float32" }, c: { shape: [n, n], dtype: "float32" } } as const;
  const results: Uint8Array[] = [];
  for (const runtime of [koffiRuntime(), nodeRuntime()]) {
    const arena = new AlignedArena(specs, runtime.addressOf);
    const bound = (name: keyof typeof specs): BoundTensor => ({ ...specs[name], data: arena.view(name) });
    arena.view("a").forEach((_, i, data) => void (data[i] = Math.sin(i)));
    arena.view("b").forEach((_, i, data) => void (data[i] = Math.cos(i)));
    const session = await runtime.createSession(model, { threads: 1 });
    await session.bind({ a: bound("a"), b: bound("b") }, { c: bound("c") }).run();
    session.dispose();
    results.push(new Uint8Array(Float32Array.from(arena.view("c")).buffer));
  }
  expect(results[0]).toEqual(results[1]);
});
