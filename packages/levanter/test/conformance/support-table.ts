import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { vi } from "vitest";
import { trace } from "../../src/engine/trace.js";
import { LEFT_TO_CPU } from "./left-to-cpu.js";
import type { OperationCase, OperationSpec } from "./operation-case.js";
import { OPERATIONS } from "./operations.js";
import { promisedBits } from "./promised-bits.js";
import { functionOf, inputsOf, oracleOutputs, upstreamOf, type Finding } from "./suite.js";

/** Random calls of an operation whose kernels are listed together: some take another way than others. */
const SAMPLED = 12;

function sampled(operation: OperationSpec): OperationCase[] {
  return fc.sample(operation.cases, { numRuns: SAMPLED, seed: 1 });
}

/** Kernels of tfjs that an operation calls, as far as random calls show; with those of its gradient, or without. */
export function kernelsOf(operation: OperationSpec, withGradients: boolean): string[] {
  const reached = new Set<string>();
  const runKernel = vi.spyOn(tf.engine(), "runKernel");
  try {
    for (const testCase of sampled(operation)) {
      const called = withGradients ? testCase : { ...testCase, gradients: [] };
      trace(operation.name, functionOf(called), inputsOf(called, upstreamOf(oracleOutputs(called, called.inputs))).specs);
    }
    for (const [kernel] of runKernel.mock.calls) reached.add(kernel);
  } finally {
    runKernel.mockRestore();
  }
  return [...reached].sort();
}

function gradientOf(operation: OperationSpec): string {
  const with_ = sampled(operation).filter(({ gradients }) => gradients.length > 0).length;
  if (with_ === 0) return "–";
  return with_ === SAMPLED ? "yes" : "in part";
}

function cell(finding: Finding | undefined): string {
  if (finding === undefined) return "not run";
  if (finding.values !== undefined) return "no";
  return finding.gradient === undefined ? "yes" : "values";
}

function onWebGpu(operation: string): string {
  const left = LEFT_TO_CPU[operation];
  return left === undefined ? "yes" : `CPU: ${left.join(", ")}`;
}

/** What an engine lacks in words, without the numbers of the call that showed it. */
function reasonOf({ values, gradient }: Finding): string {
  const message = values ?? gradient ?? "";
  const kernel = /Kernel '(\w+)' not registered/.exec(message)?.[1];
  if (kernel !== undefined) return `has no kernel ${kernel}`;
  if (/: (output|gradient)/.test(message)) return `gives wrong ${values === undefined ? "gradients" : "values"} for some calls`;
  return message.split("\n", 1)[0] ?? "";
}

/**
 * The table of operations in Markdown.
 *
 * @param engines - findings by engine, in the order of the columns
 */
export function supportTable(engines: Readonly<Record<string, ReadonlyMap<string, Finding>>>): string {
  const names = Object.keys(engines);
  const lines = [
    "# Operations",
    "",
    "What levanter's models, losses and optimizers may be written with, and what runs it. This page is written by `src/engine/conformance.operations.test.ts`, which compares every operation and its",
    "gradient with float64 on random shapes and values; `pnpm --filter @marin/levanter exec vitest run src/engine/conformance.operations.test.ts -u` writes it again. An operation that stands here",
    "without a type takes float32 (or the type that its name asks for). Others: [adding an operator](../../docs/adding-an-operator.md).",
    "",
    "* **kernels**: tfjs's, as its operation calls them. **gradient**: \"in part\" means for equal shapes, or for some attributes, as in tfjs.",
    `* **${names.join(", ")}**: the engines. "values": without the gradient. What is missing there is listed below.`,
    "* **webgpu**: the compiled engine on device `webgpu`; \"CPU: Mod\" where ONNX Runtime's provider leaves such operators to the CPU. Held to by `src/engine/device/conformance.slow.test.ts`.",
    "* **same bits**: on the compiled engine (`onnx`), in other processes and at other numbers of threads. Held to by `src/engine/operation-bits.slow.test.ts`.",
    "  * \"1 and 2 threads\": ONNX Runtime divides a product that is wider than tall by columns among threads, and adds up in other pieces where a thread's part has 64 columns or fewer and the summed",
    "    axis is longer than 128. At 3 threads the test saw it in products 193 columns wide.",
    "  * \"no\": `Log` rounds by the place of a number in its thread's part. Element-wise programs (optimizers' updates) run on one thread and are the same in any case.",
  ];
  for (const group of new Set(OPERATIONS.map((operation) => operation.group))) {
    lines.push("", `## ${group.charAt(0).toUpperCase()}${group.slice(1)}`, "", `| operation | kernels | gradient | ${names.join(" | ")} | webgpu | same bits |`, `|---|---|---|${"---|".repeat(names.length)}---|---|`);
    for (const operation of OPERATIONS.filter((candidate) => candidate.group === group)) {
      const cells = names.map((name) => cell(engines[name]?.get(operation.name)));
      lines.push(`| \`${operation.name}\` | ${kernelsOf(operation, false).join(", ")} | ${gradientOf(operation)} | ${cells.join(" | ")} | ${onWebGpu(operation.name)} | ${promisedBits(operation.name)} |`);
    }
  }
  lines.push("", "## What engines lack");
  for (const name of names) {
    const lacking = OPERATIONS.map((operation) => [operation.name, engines[name]?.get(operation.name) ?? {}] as const).filter(([, finding]) => cell(finding) !== "yes");
    if (lacking.length > 0) lines.push("", `\`${name}\`:`, "", ...lacking.map(([operation, finding]) => `* \`${operation}\`: ${reasonOf(finding)}`));
  }
  return `${lines.join("\n")}\n`;
}
