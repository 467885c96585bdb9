import { afterAll } from "vitest";
import { describeEngine } from "../../../test/conformance/engine-contract.js";
import { useVulkan } from "../../../test/webgpu/software-vulkan.js";
import { DeviceEngine } from "./device-engine.js";

const environment = await useVulkan();
afterAll(() => environment.remove());

describeEngine("onnx on webgpu", () => DeviceEngine.create({ device: "webgpu", threads: 1 }));
