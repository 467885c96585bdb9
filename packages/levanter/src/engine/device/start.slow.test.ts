import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { vulkanEnvironment } from "../../../test/webgpu/software-vulkan.js";
import type { VulkanEnvironment } from "../../../test/webgpu/software-vulkan.js";

const script = fileURLToPath(new URL("../../../test/webgpu/start-on-device.ts", import.meta.url));

let environment: VulkanEnvironment;
beforeAll(async () => {
  environment = await vulkanEnvironment();
});
afterAll(() => environment.remove());

/** What starting the engine on WebGPU in a process of its own gives. */
async function start(env: NodeJS.ProcessEnv, ...args: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, ...args], { env });
  return JSON.parse(stdout);
}

it("the engine starts on webgpu where Vulkan has a device", async () => {
  expect(await start(environment.variables)).toEqual({ description: expect.stringMatching(/^onnx: ONNX Runtime 1\.30\.0 on webgpu \(.+\)$/) as string });
});

it("without a driver, the error says what to install", async () => {
  const hidden = { ...environment.variables, VK_ICD_FILENAMES: "/absent.json", VK_DRIVER_FILES: "/absent.json" };
  expect(await start(hidden)).toEqual({
    code: "LEVANTER_ENGINE_UNAVAILABLE",
    message: expect.stringMatching(/^device "webgpu" cannot be used here: Vulkan lists no device\. Install the GPU's driver: apt-get install /) as string,
  });
});

it("without the Vulkan loader, the error says what to install", async () => {
  // What the system itself has installed cannot be hidden.
  const { LD_LIBRARY_PATH: _hidden, ...rest } = environment.variables;
  expect(await start({ ...rest, VK_ICD_FILENAMES: "/absent.json", VK_DRIVER_FILES: "/absent.json" })).toEqual({
    code: "LEVANTER_ENGINE_UNAVAILABLE",
    message: expect.stringMatching(/^device "webgpu" cannot be used here: (?:the Vulkan loader libvulkan\.so\.1 is missing\. Install it: apt-get install libvulkan1 |Vulkan lists no device)/) as string,
  });
});

it("float16 products are refused, or had, as the device's shaders allow", async () => {
  // SwiftShader has no 16-bit floats; a GPU named by MARIN_TEST_VULKAN_ICD may have them.
  const plain = (await start(environment.variables)) as { description: string };
  const result = await start(environment.variables, "float16");
  if (plain.description.includes("SwiftShader")) {
    expect(result).toEqual({ code: "LEVANTER_PRECISION", message: expect.stringMatching(/^precision "float16" cannot be had on webgpu \(SwiftShader .*\): it computes nothing in 16-bit floats .* Use precision "float32"\.$/s) as string });
  } else expect(result).toEqual({ description: `${plain.description}, float16 products` });
});
