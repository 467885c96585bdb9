import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installedLibrary, locateLibrary, requireVersion } from "./native-library.js";

// What onnxruntime-node 1.30.0 holds below bin/napi-v6.
const contents: Readonly<Record<string, readonly string[]>> = {
  "linux/x64": ["libonnxruntime.so.1", "onnxruntime_binding.node"],
  "linux/arm64": ["libonnxruntime.so.1", "onnxruntime_binding.node"],
  "darwin/arm64": ["libonnxruntime.1.30.0.dylib", "libonnxruntime.1.dylib", "onnxruntime_binding.node"],
  "win32/x64": ["DirectML.dll", "dxcompiler.dll", "dxil.dll", "onnxruntime.dll", "onnxruntime_binding.node"],
  "win32/arm64": ["DirectML.dll", "dxcompiler.dll", "dxil.dll", "onnxruntime.dll", "onnxruntime_binding.node"],
};

function locate(platform: string, arch: string, missing: readonly string[] = []): string {
  return locateLibrary({
    platform,
    arch,
    packageRoot: "root",
    list: (folder) => {
      const target = Object.keys(contents).find((key) => folder === join("root", "bin", "napi-v6", ...key.split("/")));
      return (contents[target ?? ""] ?? []).filter((name) => !missing.includes(name));
    },
  });
}

test.each([
  ["linux", "x64", "libonnxruntime.so.1"],
  ["linux", "arm64", "libonnxruntime.so.1"],
  ["darwin", "arm64", "libonnxruntime.1.30.0.dylib"],
  ["win32", "x64", "onnxruntime.dll"],
  ["win32", "arm64", "onnxruntime.dll"],
])("finds the library for %s %s", (platform, arch, name) => {
  expect(locate(platform, arch)).toBe(join("root", "bin", "napi-v6", platform, arch, name));
});

test("takes the library's other name on macOS", () => {
  expect(locate("darwin", "arm64", ["libonnxruntime.1.30.0.dylib"])).toMatch(/libonnxruntime\.1\.dylib$/);
});

test.each([
  ["darwin", "x64"],
  ["linux", "riscv64"],
  ["aix", "ppc64"],
])("says that the package holds nothing for %s %s, and what to use", (platform, arch) => {
  expect(() => locate(platform, arch)).toThrow(
    expect.objectContaining({ code: "LEVANTER_RUNTIME_UNAVAILABLE", message: expect.stringMatching(new RegExp(`${platform}/${arch}.*linux/x64.*engine "wasm"`)) as string }) as Error,
  );
});

test("an incomplete installation is named with its folder, the file and the cure", () => {
  expect(() => locate("linux", "x64", ["libonnxruntime.so.1"])).toThrow(
    expect.objectContaining({ code: "LEVANTER_RUNTIME_UNAVAILABLE", message: expect.stringMatching(/linux.x64 holds none of libonnxruntime\.so\.1.*pnpm install/) as string }) as Error,
  );
});

test("another version than the pinned one is refused, naming both versions and the path", () => {
  expect(() => requireVersion("1.29.1", "/some/libonnxruntime.so.1")).toThrow(
    expect.objectContaining({
      code: "LEVANTER_RUNTIME_VERSION",
      message: "/some/libonnxruntime.so.1 is ONNX Runtime 1.29.1; levanter needs exactly 1.30.0. Let no package.json ask for another, and reinstall: pnpm install --force",
    }) as Error,
  );
});

test("the library of this installation exists", () => {
  expect(existsSync(installedLibrary())).toBe(true);
});
