import { createHash } from "node:crypto";
import { OnnxEngine } from "../../src/engine/compiled-engine.js";
import { trace } from "../../src/engine/trace.js";
import { evaluate } from "../reference/evaluate.js";
import type { OperationCase } from "./operation-case.js";
import { OPERATIONS } from "./operations.js";
import { functionOf, inputsOf, upstreamOf } from "./suite.js";

/** A digest of an operation's values, and one of its gradients where it has some. */
export interface OperationDigests {
  readonly values: string;
  readonly gradients?: string;
}

/**
 * Computes each operation's large call on a fresh compiled engine, in this order.
 *
 * @param threads - of the engine
 */
export async function hashOperations(threads: number, names: readonly string[]): Promise<Record<string, OperationDigests>> {
  const engine = await OnnxEngine.create({ threads });
  const known = new Map(OPERATIONS.map((operation) => [operation.name, operation]));
  const digests: Record<string, OperationDigests> = {};
  for (const name of names) {
    const large = known.get(name)?.large() as OperationCase;
    const outputs = trace(name, functionOf({ ...large, gradients: [] }), inputsOf({ ...large, gradients: [] }, []).specs).outputs;
    const { specs, data } = inputsOf(large, upstreamOf([...outputs.values()].map(({ shape }) => ({ shape, data: [] }))));
    const inputs = Object.fromEntries(Object.entries(specs).map(([key, { shape }]) => [key, { shape, data: data[key] as Float32Array }]));
    const results = await evaluate(engine, functionOf(large), inputs);
    const digest = (first: string): string => {
      const hash = createHash("sha256");
      for (const key of Object.keys(results).filter((result) => result.startsWith(first)).sort()) hash.update(results[key] as Float32Array);
      return hash.digest("hex");
    };
    digests[name] = large.gradients.length === 0 ? { values: digest("y") } : { values: digest("y"), gradients: digest("d") };
  }
  await engine.dispose();
  return digests;
}
