import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OnnxEngine } from "../../src/engine/compiled-engine.js";
import { EagerEngine } from "../../src/engine/eager-engine.js";
import { liveHandles } from "../../src/engine/runtime/ort-handles.js";
import { elementCount } from "../../src/engine/shape.js";
import type { BufferGroup, Engine, Specs, TensorFunction } from "../../src/engine/types.js";

/** A float32 spec. */
export const float = (...shape: number[]) => ({ shape, dtype: "float32" }) as const;

/** Writes a number made from the places of tensor and element to every element. */
export function fill(group: BufferGroup, value: (tensor: number, element: number) => number): void {
  Object.values(group.buffers).forEach((buffer, t) => buffer.write(Float32Array.from({ length: elementCount(buffer.spec.shape) }, (_, i) => value(t, i))));
}

/** The elements of every tensor. */
export async function contents(group: BufferGroup): Promise<number[][]> {
  const result: number[][] = [];
  for (const buffer of Object.values(group.buffers)) result.push([...(await buffer.read())]);
  return result;
}

/** Declares the tests of what every engine does with buffers, programs, groups and errors, whatever it computes with. */
export function describeEngine(title: string, create: () => Promise<Engine>): void {
  describe(`engine ${title}`, () => {
    let engine: Engine;
    const nativeBefore = liveHandles();
    let tensorsBefore = 0;
    beforeAll(async () => {
      engine = await create();
      tensorsBefore = tf.engine().state.numTensors;
    });
    afterAll(async () => {
      await engine.dispose();
      await engine.dispose();
      expect(liveHandles()).toEqual(nativeBefore);
      expect(tf.engine().state.numTensors).toBe(tensorsBefore);
    });

    test("refuses work once it was disposed", async () => {
      const other = await create();
      await other.dispose();
      const gone = { code: "LEVANTER_RELEASED", message: "the engine was disposed and can no longer be used" };
      const double: TensorFunction = ({ x }) => ({ x: tf.add(x as tf.Tensor, x as tf.Tensor) });
      expect(() => other.allocate({ x: float(2) })).toThrow(expect.objectContaining(gone) as Error);
      await expect(other.compile("double", double, { x: float(2) })).rejects.toMatchObject(gone);
      await expect(other.compileElementwise("double", double, ["x"], [])).rejects.toMatchObject(gone);
      await expect(other.compileReduce("sum", ({ x }) => ({ value: tf.sum(x as tf.Tensor) }), ["x"])).rejects.toMatchObject(gone);
    });

    test("describes itself in one line and fingerprints the processor", () => {
      expect(engine.description).toMatch(new RegExp(`^${engine.name}: .*[^\\n]$`));
      expect(engine.fingerprint).toContain(process.arch);
    });

    test("buffers start at zero, take what is written, and give copies", async () => {
      const group = engine.allocate({ f: float(2, 3), i: { shape: [3], dtype: "int32" }, b: { shape: [2], dtype: "bool" }, s: float() });
      expect(await group.buffers["f"]?.read()).toEqual(new Float32Array(6));
      const source = Int32Array.of(1, -2, 3);
      group.buffers["i"]?.write(source);
      source.fill(9);
      group.buffers["b"]?.write(Uint8Array.of(1, 0));
      const copy = await group.buffers["i"]?.read();
      expect(copy).toEqual(Int32Array.of(1, -2, 3));
      copy?.fill(7);
      expect(await group.buffers["i"]?.read()).toEqual(Int32Array.of(1, -2, 3));
      expect(await group.buffers["b"]?.read()).toEqual(Uint8Array.of(1, 0));
      expect(() => group.buffers["f"]?.write(new Float32Array(5))).toThrow(expect.objectContaining({ code: "LEVANTER_SHAPE", message: '"f" is float32 [2, 3] and takes a Float32Array of 6; given: a Float32Array of 5' }) as Error);
      expect(() => group.buffers["i"]?.write(new Float32Array(3))).toThrow(expect.objectContaining({ code: "LEVANTER_SHAPE" }) as Error);
      expect(group.byteLength).toBeGreaterThanOrEqual(24 + 12 + 2 + 4);
      group.release();
      await expect(group.buffers["f"]?.read()).rejects.toMatchObject({ code: "LEVANTER_RELEASED" });
    });

    test("runs a program with its gradient, again and again, on any buffers of its specs", async () => {
      const fn: TensorFunction = ({ x, w }) => {
        const { value, grads } = tf.valueAndGrads((a: tf.Tensor, b: tf.Tensor) => tf.sum<tf.Scalar>(tf.square(tf.matMul(a, b))))([x as tf.Tensor, w as tf.Tensor]);
        return { loss: value, dw: grads[1] as tf.Tensor };
      };
      const program = await engine.compile("square", fn, { x: float(2, 2), w: float(2, 1) });
      expect(program.outputs).toEqual({ loss: float(), dw: float(2, 1) });
      const inputs = engine.allocate(program.inputs);
      const outs = [engine.allocate(program.outputs), engine.allocate(program.outputs)] as const;
      inputs.buffers["x"]?.write(Float32Array.of(1, 2, 3, 4));
      for (const [round, out] of [outs[0], outs[1], outs[0]].entries()) {
        const scale = round + 1;
        inputs.buffers["w"]?.write(Float32Array.of(scale, -scale));
        await program.run(inputs.buffers, out.buffers);
        // x w = (-s, -s); loss = 2 s²; dw = 2 xᵀ(x w) = (-8 s, -12 s)
        expect(await out.buffers["loss"]?.read()).toEqual(Float32Array.of(2 * scale * scale));
        expect(await out.buffers["dw"]?.read()).toEqual(Float32Array.of(-8 * scale, -12 * scale));
      }
      await expect(program.run({ x: inputs.buffers["x"]! }, outs[0].buffers)).rejects.toMatchObject({ code: "LEVANTER_SHAPE", message: expect.stringContaining('"w" is missing') as string });
      await expect(program.run(inputs.buffers, { ...outs[0].buffers, dw: inputs.buffers["w"]! })).rejects.toMatchObject({ code: "LEVANTER_ALIASED" });
      await expect(program.run({ ...inputs.buffers, w: outs[0].buffers["loss"]! }, outs[1].buffers)).rejects.toMatchObject({ code: "LEVANTER_SHAPE", message: expect.stringContaining("[2, 1]") as string });
      outs[1].release();
      await expect(program.run(inputs.buffers, outs[1].buffers)).rejects.toMatchObject({ code: "LEVANTER_RELEASED" });
      program.dispose();
      inputs.release();
      outs[0].release();
    });

    test("calls are executed in the order in which they were made", async () => {
      const program = await engine.compile("double", ({ x }) => ({ y: tf.add(x as tf.Tensor, x as tf.Tensor) }), { x: float(4) });
      const specs = { t: float(4) };
      const chain = Array.from({ length: 8 }, () => engine.allocate(specs));
      chain[0]?.buffers["t"]?.write(Float32Array.of(1, 2, 3, 4));
      await Promise.all(chain.slice(1).map((next, i) => program.run({ x: chain[i]!.buffers["t"]! }, { y: next.buffers["t"]! })));
      expect(await chain[7]?.buffers["t"]?.read()).toEqual(Float32Array.of(128, 256, 384, 512));
      for (const group of chain) group.release();
      program.dispose();
    });

    test("programs handed in before a write see the contents from before it", async () => {
      const program = await engine.compile("negate", ({ x }) => ({ y: tf.neg(x as tf.Tensor) }), { x: float(2) });
      const [input, output] = [engine.allocate({ x: float(2) }), engine.allocate({ y: float(2) })];
      const [x, y] = [input.buffers["x"]!, output.buffers["y"]!];
      x.write(Float32Array.of(1, 2));
      const running = program.run({ x }, { y });
      const next = Float32Array.of(3, 4);
      x.write(next);
      next.fill(9);
      await running;
      expect(await y.read()).toEqual(Float32Array.of(-1, -2));
      expect(await x.read()).toEqual(Float32Array.of(3, 4));
      await program.run({ x }, { y });
      expect(await y.read()).toEqual(Float32Array.of(-3, -4));
      program.dispose();
      input.release();
      output.release();
    });

    test("updates groups element by element, in place, reading each element before it is replaced", async () => {
      // The new p needs the old m, the new m the old p: results must not see each other.
      const swap: TensorFunction = ({ p, m, rate }) => ({ p: tf.add(m as tf.Tensor, tf.mul(p as tf.Tensor, rate as tf.Tensor)), m: tf.neg(p as tf.Tensor) });
      const program = await engine.compileElementwise("swap", swap, ["p", "m"], ["rate"]);
      // More than two pieces of 65,536, tensors that cross pieces, and a tail.
      const specs: Specs = { a: float(300, 300), b: float(7), c: float(100_003), d: float() };
      const [p, m] = [engine.allocate(specs), engine.allocate(specs)];
      fill(p, (t, i) => t + (i % 11));
      fill(m, (t, i) => 100 * t + (i % 7));
      const before = { p: await contents(p), m: await contents(m) };
      for (const rate of [2, -1]) {
        await program.run({ p, m }, { rate });
        const [oldP, oldM] = [before.p, before.m];
        before.p = oldP.map((values, t) => values.map((value, i) => (oldM[t]?.[i] ?? 0) + value * rate));
        before.m = oldP.map((values) => values.map((value) => 0 - value));
      }
      const [expectedP, expectedM] = [before.p.flat(), before.m.flat()];
      expect((await contents(p)).flat().every((value, i) => value === expectedP[i])).toBe(true);
      expect((await contents(m)).flat().every((value, i) => value === expectedM[i])).toBe(true);

      const other = engine.allocate({ a: float(300, 300), b: float(8) });
      await expect(program.run({ p, m: other }, { rate: 1 })).rejects.toMatchObject({ code: "LEVANTER_SHAPE", message: expect.stringMatching(/groups "p" and "m" differ: "b" is \[7\] in one and \[8\]/) as string });
      await expect(program.run({ p }, { rate: 1 })).rejects.toMatchObject({ code: "LEVANTER_SHAPE", message: expect.stringContaining('group "m" is missing') as string });
      await expect(program.run({ p, m }, {})).rejects.toMatchObject({ code: "LEVANTER_SHAPE", message: expect.stringContaining('scalar "rate"') as string });
      await expect(program.run({ p, m: p }, { rate: 1 })).rejects.toMatchObject({ code: "LEVANTER_ALIASED", message: expect.stringContaining('"p" and "m" are the same group') as string });
      const whole = engine.allocate({ t: { shape: [3], dtype: "int32" } });
      await expect(program.run({ p: whole, m: whole }, { rate: 1 })).rejects.toMatchObject({ code: "LEVANTER_SHAPE", message: expect.stringContaining('"t" of int32') as string });
      program.dispose();
      for (const group of [p, m, other, whole]) group.release();
    });

    test("sums over all elements, and over nothing but them", async () => {
      const program = await engine.compileReduce("dot", ({ x, y }) => ({ value: tf.sum(tf.add(tf.mul(x as tf.Tensor, y as tf.Tensor), 1)) }), ["x", "y"]);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(fc.nat(60), { maxLength: 2 }), { minLength: 1, maxLength: 4 }), async (shapes) => {
          const specs = Object.fromEntries(shapes.map((shape, i) => [`t${i}`, float(...shape)]));
          const [x, y] = [engine.allocate(specs), engine.allocate(specs)];
          fill(x, (t, i) => t + (i % 5));
          fill(y, (t, i) => (i % 3) - t);
          const [left, right] = [(await contents(x)).flat(), (await contents(y)).flat()];
          expect(await program.run({ x, y })).toBe(left.reduce((sum, value, i) => sum + value * right[i]! + 1, 0));
          x.release();
          y.release();
        }),
        { numRuns: 15 },
      );
      program.dispose();
    });

    test("refuses buffers of another engine", async () => {
      const other = engine.name === "cpu" ? await OnnxEngine.create({ threads: 1 }) : await EagerEngine.create("cpu");
      const program = await engine.compile("negate", ({ x }) => ({ y: tf.neg(x as tf.Tensor) }), { x: float(2) });
      const mine = engine.allocate({ y: float(2) });
      await expect(program.run(other.allocate({ x: float(2) }).buffers, mine.buffers)).rejects.toMatchObject({ code: "LEVANTER_FOREIGN_BUFFER" });
      program.dispose();
      mine.release();
      await other.dispose();
    });
  });
}
