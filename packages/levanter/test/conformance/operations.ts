import { ELEMENTWISE_OPERATIONS } from "./elementwise.js";
import { LINEAR_OPERATIONS } from "./linear.js";
import { LLAMA_OPERATIONS } from "./llama.js";
import type { OperationSpec } from "./operation-case.js";
import { REDUCING_OPERATIONS } from "./reducing.js";
import { SHAPING_OPERATIONS } from "./shaping.js";

/** Every operation that language models are written with, with its reference. */
export const OPERATIONS: readonly OperationSpec[] = [...ELEMENTWISE_OPERATIONS, ...REDUCING_OPERATIONS, ...LINEAR_OPERATIONS, ...LLAMA_OPERATIONS, ...SHAPING_OPERATIONS];
