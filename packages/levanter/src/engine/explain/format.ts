import type { NodeExplanation, ProgramExplanation } from "./explanation.js";

/** How `formatExplanation` writes. */
export interface FormatOptions {
  /** Single operations listed, those of most time, else of most FLOPs. Default: 20. */
  readonly top?: number;
}

/** An explanation as text for people: totals, a table by kind of operation, and one of the operations that matter most. Lines end with a newline. */
export function formatExplanation(explanation: ProgramExplanation, options: FormatOptions = {}): string {
  const { name, engine, nodes, operations, totals, fused, leftToCpu } = explanation;
  const timed = totals.milliseconds !== undefined;
  const figures = [`${nodes.length} operations`, `${giga(totals.flops)} GFLOP`, `${mebi(totals.bytes)} MiB read and written`, `${mebi(totals.heldBytes)} MiB held between`];
  if (totals.milliseconds !== undefined && totals.runMilliseconds !== undefined) {
    figures.push(`${fixed(totals.runMilliseconds)} ms a run, ${fixed(totals.milliseconds)} of them in operations (${rate(totals.flops, totals.milliseconds)} GFLOP/s)`);
  }
  const share = (milliseconds: number | undefined): string => (milliseconds === undefined || !totals.milliseconds ? "" : `${((100 * milliseconds) / totals.milliseconds).toFixed(1)} %`);
  const costs = ({ flops, bytes, milliseconds }: Pick<NodeExplanation, "flops" | "bytes" | "milliseconds">): string[] => [
    giga(flops), mebi(bytes), ...(timed ? [milliseconds === undefined ? "" : fixed(milliseconds), share(milliseconds), milliseconds === undefined || flops === 0 ? "" : rate(flops, milliseconds)] : []),
  ];
  const headings = ["GFLOP", "MiB", ...(timed ? ["ms", "share", "GFLOP/s"] : [])];
  const byWeight = [...nodes].sort((a, b) => (b.milliseconds ?? 0) - (a.milliseconds ?? 0) || b.flops - a.flops || b.bytes - a.bytes).slice(0, options.top ?? 20);
  const sections = [
    `${name} (${engine}): ${figures.join(", ")}`,
    ...(leftToCpu === undefined ? [] : [`left to the CPU: ${leftToCpu.join(", ") || "nothing"}`]),
    table(["operation", "count", ...headings], 1, [
      ...operations.map((operation) => [operation.op, String(operation.count), ...costs(operation)]),
      ...fused.map((node) => [`${node.operator} (made by the runtime: ${node.name})`, "1", "", "", fixed(node.milliseconds), share(node.milliseconds), ""]),
    ]),
    table(["operation", "shape", ...headings], 2, byWeight.map((node) => [node.op, `${node.inputs.map(dimensions).join(" ")} -> ${node.dtype} ${dimensions(node.shape)}`, ...costs(node)])),
  ];
  return `${sections.join("\n\n")}\n`;
}

function dimensions(shape: readonly number[]): string {
  return `[${shape.join(",")}]`;
}

function giga(value: number): string {
  return (value / 1e9).toFixed(3);
}

function mebi(value: number): string {
  return (value / 2 ** 20).toFixed(1);
}

function fixed(value: number): string {
  return value.toFixed(3);
}

function rate(flops: number, milliseconds: number): string {
  return milliseconds === 0 ? "" : (flops / milliseconds / 1e6).toFixed(1);
}

/** Columns of equal width; the first `left` ones are text, the others numbers. */
function table(headings: readonly string[], left: number, rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => (column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ").trimEnd();
  return [headings, ...rows].map(line).join("\n");
}
