import { expect, test } from "vitest";
import { cpuFeatures, flagsOf } from "./cpu-features.js";

test("takes the instruction sets that decide rounding from a cpuinfo of either architecture", () => {
  expect(flagsOf("processor\t: 0\nflags\t\t: fpu sse4_1 avx avx2 fma hypervisor avx512f\nbugs\t: x\n")).toEqual(["sse4_1", "avx", "avx2", "fma", "avx512f"]);
  expect(flagsOf("processor\t: 0\nFeatures\t: fp asimd evtstrm asimddp\n")).toEqual(["asimd", "asimddp"]);
  expect(flagsOf("")).toEqual([]);
});

test("is one line that stays the same within a machine", () => {
  expect(cpuFeatures()).toMatch(new RegExp(`^${process.platform} ${process.arch} [^\\n]+$`));
  expect(cpuFeatures()).toBe(cpuFeatures());
});
