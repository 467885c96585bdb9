import { describe, expect, it } from "vitest";
import { sayOnce } from "./compute.js";

describe("sayOnce", () => {
  it("says a line once, whichever step has it", () => {
    const heard: string[] = [];
    const lines = new Set<string>();
    const [train, evaluate] = ["train", "evaluate"].map((step) => sayOnce((line) => heard.push(`${step}: ${line}`), lines));
    for (const say of [train, evaluate, train]) say?.("no koffi");
    evaluate?.("no GPU");
    expect(heard).toEqual(["train: no koffi", "evaluate: no GPU"]);
  });
});
