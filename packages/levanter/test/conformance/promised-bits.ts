import { OPERATIONS } from "./operations.js";

/** Whether an operation gives the same bits in other processes and at other numbers of threads. */
export type Promised = "yes" | "1 and 2 threads" | "no";

/** Where ONNX Runtime's `Log` works: it rounds by the place of a number in its thread's part. `operation-bits.slow.test.ts` found these. */
const BY_LOG: ReadonlySet<string> = new Set(["tf.log", "tf.log1p", "tf.logSigmoid", "tf.logSoftmax", "tf.logSumExp", "tf.pow", "tf.softplus"]);

/** Beside the products by name: what holds a product of matrices. */
const WITH_PRODUCTS: ReadonlySet<string> = new Set(["linear", "projection", "causalAttention", "groupedAttention", "linearCrossEntropy", "languageModelLoss"]);

/** What is promised of an operation's bits; `operation-bits.slow.test.ts` holds it to that. */
export function promisedBits(name: string): Promised {
  if (BY_LOG.has(name)) return "no";
  const group = OPERATIONS.find((operation) => operation.name === name)?.group;
  return WITH_PRODUCTS.has(name) || (group === "products" && name !== "tf.addN" && !name.includes("int32")) ? "1 and 2 threads" : "yes";
}
