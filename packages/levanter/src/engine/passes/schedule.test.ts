import * as tf from "@tensorflow/tfjs-core";
import { expect, it } from "vitest";
import { linear } from "../ops/linear.js";
import { trace } from "../trace.js";
import type { TensorSpec } from "../types.js";
import { withoutDeadCode } from "./rewrite.js";
import { schedule } from "./schedule.js";

const square: TensorSpec = { shape: [4, 4], dtype: "float32" };

it("lists the nodes that nothing reads last, the first one last of all, and changes nothing else", () => {
  const recorded = withoutDeadCode(trace("layers", ({ x, u, v, w }) => {
    const [du, dv, dw] = tf.grads((...weights: tf.Tensor[]) => weights.reduce((y, weight) => tf.tanh(linear(y, weight)), x as tf.Tensor))([u, v, w] as tf.Tensor[]);
    return { du: du as tf.Tensor, dv: dv as tf.Tensor, dw: dw as tf.Tensor };
  }, { x: square, u: square, v: square, w: square }));
  const scheduled = schedule(recorded);
  // The last layer's weights come first in the backward pass.
  expect(scheduled.nodes.slice(-3).map((node) => [...scheduled.outputs].find(([, value]) => node.outputs.includes(value))?.[0])).toEqual(["du", "dv", "dw"]);
  expect(new Set(scheduled.nodes)).toEqual(new Set(recorded.nodes));
  expect(scheduled.nodes.slice(0, -3)).toEqual(recorded.nodes.filter((node) => scheduled.nodes.indexOf(node) < scheduled.nodes.length - 3));
});
