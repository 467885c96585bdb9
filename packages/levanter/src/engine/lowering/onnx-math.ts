import type { Value } from "../graph.js";
import type { OnnxModel } from "./onnx-model.js";
import type { Lowering } from "./onnx-operators.js";

/** Beyond this |x|, log(1 + x) loses no digits to the addition. */
const LOG1P_SERIES = 0.5;

/** Functions that ONNX has no operator for, or one with another meaning than tfjs's. */
export const COMPOSED_MATH = {
  // eˣ − 1 = tanh(x/2)·(eˣ + 1): no digits cancel near 0.
  expm1: ({ model, inputs: [x = ""], outputs }) => {
    const half = model.value("Mul", [x, model.scalar(0.5, "float32")]);
    const sum = model.value("Add", [model.value("Exp", [x]), model.scalar(1, "float32")]);
    model.node("Mul", [model.value("Tanh", [half]), sum], outputs);
  },
  // log(1 + x) = 2·artanh(x/(2 + x)) near 0, where the sum 1 + x rounds x away.
  log1p: ({ model, inputs: [x = ""], outputs }) => {
    const two = model.scalar(2, "float32");
    const near = model.value("Mul", [model.value("Atanh", [model.value("Div", [x, model.value("Add", [x, two])])]), two]);
    const far = model.value("Log", [model.value("Add", [x, model.scalar(1, "float32")])]);
    const isNear = model.value("Less", [model.value("Abs", [x]), model.scalar(LOG1P_SERIES, "float32")]);
    model.node("Where", [isNear, near, far], outputs);
  },
  isFinite: ({ model, inputs: [x = ""], outputs }) => {
    model.node("Less", [model.value("Abs", [x]), model.scalar(Infinity, "float32")], outputs);
  },
  // The angle below the diagonal of the first octant, then mirrored into the others.
  atan2: ({ model, inputs: [y = "", x = ""], outputs }) => {
    const [across, up] = [model.value("Abs", [x]), model.value("Abs", [y])];
    const [zero, one] = [model.scalar(0, "float32"), model.scalar(1, "float32")];
    const ratio = model.value("Div", [model.value("Min", [across, up]), model.value("Max", [across, up])]);
    // On the diagonal, two infinities included, it is 1; at the origin, 0.
    const diagonal = model.value("Where", [model.value("Equal", [across, zero]), zero, one]);
    const octant = model.value("Atan", [model.value("Where", [model.value("Equal", [across, up]), diagonal, ratio])]);
    const mirrored = (when: string, angle: string, from: number): string => model.value("Where", [when, model.value("Sub", [model.scalar(from, "float32"), angle]), angle]);
    const quadrant = mirrored(model.value("Greater", [up, across]), octant, Math.PI / 2);
    const half = mirrored(model.value("Less", [x, zero]), quadrant, Math.PI);
    model.node("Where", [model.value("Less", [y, zero]), model.value("Neg", [half]), half], outputs);
  },
  // ONNX divides integers towards 0. By 0 and by −1 (of the smallest integer) a division ends the process; tfjs gives 0, and the smallest integer again.
  floorDiv: ({ model, inputs: [a = "", b = ""], outputs }) => {
    const { divisor, isZero, isMinusOne } = safeDivisor(model, b);
    const quotient = model.value("Div", [a, divisor]);
    const tooHigh = model.value("And", [
      model.value("Not", [model.value("Equal", [model.value("Mul", [quotient, divisor]), a])]),
      model.value("Xor", [isNegative(model, a), isNegative(model, divisor)]),
    ]);
    const floored = model.value("Where", [tooHigh, model.value("Sub", [quotient, model.scalar(1, "int32")]), quotient]);
    const negated = model.value("Where", [isMinusOne, model.value("Neg", [a]), floored]);
    model.node("Where", [isZero, model.scalar(0, "int32"), negated], outputs);
  },
  // The remainder has the divisor's sign.
  mod: (context) => {
    const { model, node, inputs: [a = "", b = ""], outputs } = context;
    if ((node.outputs[0] as Value).dtype === "int32") {
      // By 0 and −1 as tfjs has it: 0, the remainder by 1.
      model.node("Mod", [a, safeDivisor(model, b).divisor], outputs);
      return;
    }
    const remainder = model.value("Mod", [a, b], { fmod: { int: 1 } });
    const wrapped = model.value("Mod", [model.value("Add", [remainder, b]), b], { fmod: { int: 1 } });
    const zero = model.scalar(0, "float32");
    const apart = model.value("Xor", [model.value("Less", [a, zero]), model.value("Less", [b, zero])]);
    model.node("Where", [apart, wrapped, remainder], outputs);
  },
} as const satisfies { readonly [K in "atan2" | "expm1" | "floorDiv" | "isFinite" | "log1p" | "mod"]: Lowering<K> };

function isNegative(model: OnnxModel, x: string): string {
  return model.value("Less", [x, model.scalar(0, "int32")]);
}

/** A divisor of integers with 1 in place of 0 and −1, which the processor traps on. */
function safeDivisor(model: OnnxModel, b: string): { divisor: string; isZero: string; isMinusOne: string } {
  const isZero = model.value("Equal", [b, model.scalar(0, "int32")]);
  const isMinusOne = model.value("Equal", [b, model.scalar(-1, "int32")]);
  return { divisor: model.value("Where", [model.value("Or", [isZero, isMinusOne]), model.scalar(1, "int32"), b]), isZero, isMinusOne };
}
