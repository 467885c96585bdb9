import { expect, test } from "vitest";
import { reasonOf } from "./unavailable.js";
import type { DeviceFailure } from "./unavailable.js";

const failure: DeviceFailure = {
  device: "webgpu",
  platform: "linux",
  arch: "x64",
  library: "/app/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1",
  exists: () => false,
  vulkan: { loader: true, adapters: [] },
  message: "No supported adapters",
};

test.each<[string, Partial<DeviceFailure>, RegExp]>([
  ["a platform without WebGPU", { arch: "arm64" }, /holds no webgpu for linux\/arm64; it holds it for linux\/x64, .*\. Use device "cpu"\.$/],
  ["a platform without CUDA", { device: "cuda", platform: "darwin", arch: "arm64" }, /holds no cuda for darwin\/arm64; it holds it for linux\/x64\. Use device "cpu"\.$/],
  ["no Vulkan loader", { vulkan: { loader: false, adapters: [] } }, /^the Vulkan loader .* is missing\. Install it: apt-get install libvulkan1 /],
  ["no driver", {}, /^Vulkan lists no device\. Install the GPU's driver: apt-get install mesa-vulkan-drivers/],
  ["a refused device", { vulkan: { loader: true, adapters: ["llvmpipe (LLVM 15)"] } }, /^WebGPU refuses what Vulkan lists \(llvmpipe \(LLVM 15\)\): No supported adapters\./],
  ["another way than Vulkan", { platform: "darwin", arch: "arm64", vulkan: undefined }, /^no GPU that WebGPU can use was found: No supported adapters$/],
  [
    "no CUDA provider",
    { device: "cuda", vulkan: undefined },
    /^the CUDA provider is not installed .*Download it: node \/app\/node_modules\/onnxruntime-node\/script\/install\.js --onnxruntime-node-install=cuda12$/,
  ],
  ["no CUDA", { device: "cuda", exists: () => true, message: "Failed to load shared library" }, /could not be started: Failed to load shared library\. It needs an NVIDIA GPU .* CUDA 12 and cuDNN 9/],
])("%s is named, with what cures it", (_name, facts, expected) => {
  expect(reasonOf({ ...failure, ...facts })).toMatch(expected);
});
