import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readIndex } from "../../../test/reference/fixtures.js";
import type { ParityIndex } from "../../../test/reference/gpt2-runs.js";
import { vulkanEnvironment } from "../../../test/webgpu/software-vulkan.js";
import type { VulkanEnvironment } from "../../../test/webgpu/software-vulkan.js";
import type { TrainingReport } from "../../../test/webgpu/train-on-device.js";

const script = fileURLToPath(new URL("../../../test/webgpu/train-on-device.ts", import.meta.url));

describe("ten steps of training a GPT-2 on webgpu", () => {
  let environment: VulkanEnvironment;
  let report: TrainingReport;
  beforeAll(async () => {
    environment = await vulkanEnvironment();
    const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], {
      env: environment.variables,
      maxBuffer: 2 ** 26,
    });
    report = JSON.parse(stdout) as TrainingReport;
  });
  afterAll(() => environment.remove());

  it("give the CPU's losses, gradient norms and parameters", () => {
    const { cpu, device } = report;
    expect(device.losses).toHaveLength(10);
    device.losses.forEach((loss, step) => {
      expect(Math.abs(loss - (cpu.losses[step] as number)), `loss of step ${step}`).toBeLessThan(1e-4);
      expect(Math.abs((device.gradientNorms[step] as number) / (cpu.gradientNorms[step] as number) - 1), `gradient norm of step ${step}`).toBeLessThan(1e-4);
    });
    // AdamW turns a gradient that is rounding alone into a step of the learning rate's size, so that single elements may differ by that.
    for (const [name, values] of Object.entries(device.parameters)) {
      const squares = values.reduce((sum, value, at) => sum + (value - (cpu.parameters[name]?.[at] as number)) ** 2, 0);
      expect(Math.sqrt(squares / values.length), name).toBeLessThan(1e-3);
    }
  });

  it("give PyTorch's losses", () => {
    const { losses } = readIndex<ParityIndex>("gpt2");
    report.device.losses.forEach((loss, step) => { expect(Math.abs(loss - (losses[step] as number)), `step ${step}`).toBeLessThan(1e-4); });
  });

  it("leave no operator to the CPU", () => {
    expect(report.leftToCpu).toEqual([]);
  });

  it("keep parameters and moments on the device: what travels is the batch, numbers, and once the initial values", () => {
    const { transfers, parameterBytes, batchBytes } = report;
    expect(transfers).toHaveLength(11);
    const first = transfers[1]?.uploadedBytes ?? 0;
    // Parameters, and zeros for the two moments of each.
    expect(first).toBeGreaterThanOrEqual(3 * parameterBytes);
    expect(first).toBeLessThan(3 * parameterBytes + batchBytes + 1024);
    for (let step = 2; step < transfers.length; step++) {
      const [before, after] = [transfers[step - 1], transfers[step]];
      expect((after?.uploadedBytes ?? 0) - (before?.uploadedBytes ?? 0), `uploaded by step ${step}`).toBeLessThan(batchBytes + 128);
      expect((after?.downloadedBytes ?? 0) - (before?.downloadedBytes ?? 0), `downloaded by step ${step}`).toBeLessThan(256);
    }
    expect(parameterBytes).toBeGreaterThan(10 * (batchBytes + 128));
  });

  it("leak no tensor, and leave nothing when the engine is disposed", () => {
    expect(new Set(report.tensors.slice(2)).size).toBe(1);
    expect(report.handlesLeft).toEqual({ session: 0, value: 0, options: 0, memoryInfo: 0 });
  });

  it("say where they were computed", () => {
    expect(report.device.description).toMatch(/^onnx: ONNX Runtime 1\.30\.0 on webgpu \(.+\)$/);
    expect(report.device.fingerprint).toMatch(/^onnx 1\.30\.0 webgpu \(.+\); /);
  });
});
