import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { MarinError } from "@marin/iris";
import { runtimeVersion } from "../runtime/native-library.js";
import type { DeviceName } from "./device-api.js";
import { vulkanLoaderName, vulkanReport } from "./vulkan.js";
import type { VulkanReport } from "./vulkan.js";

/** Platforms for which the `onnxruntime-node` package holds the provider, as `platform/arch` in Node's words. */
const shipped: Readonly<Record<DeviceName, readonly string[]>> = { webgpu: ["linux/x64", "darwin/arm64", "win32/x64", "win32/arm64"], cuda: ["linux/x64"] };

/** Name of the CUDA provider's library, which `onnxruntime-node`'s install script downloads. */
const cudaLibrary = "libonnxruntime_providers_cuda.so";

/** What is known of a device that did not start. */
export interface DeviceFailure {
  readonly device: DeviceName;
  /** `process.platform` and `process.arch`. */
  readonly platform: string;
  readonly arch: string;
  /** Path of ONNX Runtime's library. */
  readonly library: string;
  /** Whether a file is there. */
  readonly exists: (path: string) => boolean;
  /** What Vulkan offers; `undefined` where WebGPU does not go through Vulkan. */
  readonly vulkan: VulkanReport | undefined;
  /** ONNX Runtime's own message. */
  readonly message: string;
}

/** The error for a device that could not be started in this process. */
export function deviceUnavailable(device: DeviceName, library: string, cause: Error): MarinError {
  const vulkan = device === "webgpu" ? vulkanReport() : undefined;
  const failure: DeviceFailure = { device, platform: process.platform, arch: process.arch, library, exists: existsSync, vulkan, message: cause.message };
  return new MarinError("LEVANTER_ENGINE_UNAVAILABLE", `device "${device}" cannot be used here: ${reasonOf(failure)}`, { cause, data: { device, reason: "device" } });
}

/** What is missing for a device, and what cures it. */
export function reasonOf(failure: DeviceFailure): string {
  const target = `${failure.platform}/${failure.arch}`;
  const platforms = shipped[failure.device];
  if (!platforms.includes(target)) return `onnxruntime-node ${runtimeVersion} holds no ${failure.device} for ${target}; it holds it for ${platforms.join(", ")}. Use device "cpu".`;
  return failure.device === "cuda" ? reasonOfCuda(failure) : reasonOfWebGpu(failure);
}

function reasonOfCuda({ library, exists, message }: DeviceFailure): string {
  const folder = dirname(library);
  if (!exists(join(folder, cudaLibrary))) {
    const script = join(folder, "..", "..", "..", "..", "script", "install.js");
    return `the CUDA provider is not installed (${folder} holds no ${cudaLibrary}). Download it: node ${script} --onnxruntime-node-install=cuda12`;
  }
  return `the CUDA provider could not be started: ${message}. It needs an NVIDIA GPU with its driver (nvidia-smi lists it), CUDA 12 and cuDNN 9 on the library path.`;
}

function reasonOfWebGpu({ vulkan, message }: DeviceFailure): string {
  if (vulkan === undefined) return `no GPU that WebGPU can use was found: ${message}`;
  if (!vulkan.loader) {
    return `the Vulkan loader ${vulkanLoaderName() ?? ""} is missing. Install it: apt-get install libvulkan1 (Debian, Ubuntu) or dnf install vulkan-loader (Fedora), and the GPU's driver.`;
  }
  if (vulkan.adapters.length === 0) {
    return "Vulkan lists no device. Install the GPU's driver: apt-get install mesa-vulkan-drivers for AMD and Intel, NVIDIA's own for NVIDIA; in a container, hand the GPU through.";
  }
  return `WebGPU refuses what Vulkan lists (${vulkan.adapters.join(", ")}): ${message}. Mesa's llvmpipe is among the refused; a GPU's own driver or SwiftShader (VK_ICD_FILENAMES names its JSON file) is taken.`;
}
