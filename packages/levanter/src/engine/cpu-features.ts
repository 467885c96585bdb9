import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Instruction sets by which ONNX Runtime chooses among kernels that round differently, as Linux names them. */
const relevant = new Set(
  "sse4_1 avx avx2 fma avx_vnni avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16 amx_tile amx_bf16 amx_int8 asimd asimdhp asimddp sve sve2 i8mm bf16".split(" "),
);

/** Names the processor and its instruction sets in one line; equal lines mean equal bits for one runtime version. */
export function cpuFeatures(): string {
  const model = (cpus()[0]?.model ?? "unknown").trim();
  const flags = process.platform === "linux" ? flagsOf(cpuInfo()) : [];
  return [process.platform, process.arch, model, ...flags].join(" ");
}

/** The relevant flags of a `/proc/cpuinfo`, in its own order. */
export function flagsOf(info: string): readonly string[] {
  const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(info)?.[1] ?? "";
  return line.split(/\s+/).filter((flag) => relevant.has(flag));
}

function cpuInfo(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    // Absent in some sandboxes: the model's name then stands alone.
    return "";
  }
}
