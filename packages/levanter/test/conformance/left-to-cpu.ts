/**
 * What ONNX Runtime's WebGPU provider has no kernel for, be it for the type of the operands: operators that run on the CPU in each operation and its gradient, on
 * random calls. Training a language model uses none of them. `src/engine/device/conformance.slow.test.ts` holds this to what the provider says.
 */
export const LEFT_TO_CPU: Readonly<Record<string, readonly string[]>> = {
  "tf.abs of int32": ["Abs"],
  "tf.argMax": ["Cast"],
  "tf.argMin": ["Cast"],
  "tf.floorDiv of int32": ["Neg", "Or", "Xor"],
  "tf.isInf": ["IsInf"],
  "tf.logicalOr": ["Or"],
  "tf.logicalXor": ["Or"],
  "tf.matMul of int32": ["MatMul"],
  "tf.mod": ["Mod", "Xor"],
  "tf.mod of int32": ["Mod", "Or"],
  "tf.neg of int32": ["Neg"],
  "tf.oneHot": ["OneHot"],
  "tf.round": ["Round"],
  "tf.selu": ["Selu"],
  "tf.sign": ["Sign"],
  "tf.sign of int32": ["Sign"],
  "tf.topk": ["Cast"],
};
