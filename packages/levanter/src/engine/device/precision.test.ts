import * as tf from "@tensorflow/tfjs-core";
import { describe, expect, it } from "vitest";
import { expectClose } from "../../../test/reference/closeness.js";
import { isOp } from "../graph.js";
import type { Graph } from "../graph.js";
import { inputName, lower } from "../lowering/lower.js";
import { linear } from "../ops/linear.js";
import { optimize } from "../passes/optimize.js";
import { koffiRuntime } from "../runtime/koffi-session.js";
import { selectEngine } from "../select.js";
import { elementCount } from "../shape.js";
import { trace } from "../trace.js";
import type { TensorFunction } from "../types.js";
import { forDevice } from "./device-graph.js";

const layer: TensorFunction = ({ x, w, b, q }) => {
  const loss = (x: tf.Tensor, w: tf.Tensor): tf.Tensor => tf.sum(tf.mul(tf.matMul(q as tf.Tensor, tf.reshape(linear(x, w, b), [2, 3, 4]), false, false), 0.5));
  const [dx, dw] = tf.grads(loss)([x as tf.Tensor, w as tf.Tensor]) as [tf.Tensor, tf.Tensor];
  return { dx, dw, loss: loss(x as tf.Tensor, w as tf.Tensor) };
};

function traced(): Graph {
  const spec = (...shape: number[]) => ({ shape, dtype: "float32" }) as const;
  return trace("layer", layer, { x: spec(6, 5), w: spec(5, 4), b: spec(4), q: spec(2, 3, 3) });
}

function halved(device: "webgpu" | "cuda"): Graph {
  return forDevice(optimize(traced()), device, "float16");
}

function products(graph: Graph): string[] {
  return graph.nodes.flatMap((node) => {
    if (isOp(node, "custom")) return [`half ${String(node.attributes.attributes["op"])}`];
    return node.op === "matmul" || node.op === "gemm" ? [node.op] : [];
  }).sort();
}

describe("float16 products", () => {
  it("take the place of every product but the weights' gradients on webgpu, which are sums over all tokens", () => {
    expect(products(halved("webgpu"))).toEqual(["gemm", "half Gemm", "half Gemm", "half MatMul", "half MatMul"]);
  });

  it("take the place of every product on cuda", () => {
    expect(products(halved("cuda"))).toEqual(["half Gemm", "half Gemm", "half Gemm", "half MatMul", "half MatMul"]);
  });

  it("leave everything else in float32", () => {
    const graph = halved("cuda");
    expect(new Set(graph.nodes.flatMap((node) => node.outputs.map(({ dtype }) => dtype)))).toEqual(new Set(["float32"]));
  });

  it("are graphs that the runtime takes, with the values of the plain ones, since the CPU computes them in float32", async () => {
    const data = (...shape: number[]) => ({ shape, dtype: "float32", data: Float32Array.from({ length: elementCount(shape) }, (_, i) => Math.sin(1.7 * (i + shape.length))) }) as const;
    const bound = { "in:x": data(6, 5), "in:w": data(5, 4), "in:b": data(4), "in:q": data(2, 3, 3) };
    const results = async (graph: Graph): Promise<number[][]> => {
      const session = await koffiRuntime().createSession(lower(graph).bytes, { threads: 1 });
      const outputs = { "out:dx": data(6, 5), "out:dw": data(5, 4), "out:loss": data() };
      const read = Object.fromEntries([...graph.inputs.keys()].map((name) => [inputName(name), bound[inputName(name) as keyof typeof bound]]));
      await session.bind(read, outputs).run();
      session.dispose();
      return Object.values(outputs).map((output) => Array.from(output.data));
    };
    const expected = await results(optimize(traced()));
    for (const device of ["webgpu", "cuda"] as const) {
      (await results(halved(device))).forEach((values, at) => { expectClose(values, expected[at] as number[], 1e-6, 1e-5, `output ${at} for ${device}`); });
    }
  });

  it.each([{ engine: "onnx" }, { engine: "auto", device: "cpu" }, { engine: "cpu" }] as const)("are refused where nothing is gained: %o", async (selection) => {
    await expect(selectEngine({ ...selection, precision: "float16" })).rejects.toMatchObject({
      code: "LEVANTER_PRECISION",
      message: expect.stringMatching(/^precision "float16" cannot be had on engine .* on the CPU the runtime computes them in float32\. Use precision "float32"\.$/) as string,
    });
  });
});
