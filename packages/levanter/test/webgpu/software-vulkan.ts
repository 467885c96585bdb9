import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import koffi from "koffi";
import { x } from "tar";
import { loadOrtApi } from "../../src/engine/runtime/ort-api.js";

const require = createRequire(import.meta.url);

/** Names the JSON file of a Vulkan driver to test with, for example a GPU's: `/usr/share/vulkan/icd.d/nvidia_icd.json`. */
export const icdVariable = "MARIN_TEST_VULKAN_ICD";

/** Where Debian's package `chromium` has SwiftShader. */
const debian = "/usr/lib/chromium/vk_swiftshader_icd.json";

/** An environment in which WebGPU finds one Vulkan device. */
export interface VulkanEnvironment {
  /** The process's own variables and those that lead to the driver. */
  readonly variables: NodeJS.ProcessEnv;
  /** Removes what was unpacked for it. */
  remove(): Promise<void>;
}

/**
 * An environment with a Vulkan device that needs no GPU: SwiftShader, which the development dependency `@sparticuz/chromium` brings along with the
 * Vulkan loader, or Debian's where that package is missing. Programs must be started in it: the loader looks at it once.
 */
export async function vulkanEnvironment(): Promise<VulkanEnvironment> {
  const directory = await mkdtemp(join(tmpdir(), "levanter-vulkan-"));
  const icd = process.env[icdVariable] ?? (await unpacked(directory)) ?? (existsSync(debian) ? debian : undefined);
  if (icd === undefined || process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      `no Vulkan device to test with: install the repository's development dependencies (pnpm install), which bring SwiftShader for linux/x64, or Debian's package chromium, or name a driver's JSON file in ${icdVariable}`,
    );
  }
  const runtime = join(directory, "runtime");
  await mkdir(runtime, { mode: 0o700 });
  const libraries = [dirname(icd), ...(process.env["LD_LIBRARY_PATH"] ?? "").split(delimiter)].filter((path) => path !== "").join(delimiter);
  return {
    variables: { ...process.env, VK_ICD_FILENAMES: icd, VK_DRIVER_FILES: icd, LD_LIBRARY_PATH: libraries, XDG_RUNTIME_DIR: runtime },
    remove: () => rm(directory, { recursive: true }),
  };
}

/**
 * Makes this process one in which WebGPU finds that device, for as long as it has not used WebGPU yet: the loader is loaded from its path here, so that it
 * is there under its name when WebGPU asks for it.
 */
export async function useVulkan(): Promise<VulkanEnvironment> {
  const environment = await vulkanEnvironment();
  for (const name of ["VK_ICD_FILENAMES", "VK_DRIVER_FILES", "XDG_RUNTIME_DIR"] as const) process.env[name] = environment.variables[name];
  // The engine's own first use of koffi sets how much stack its calls have.
  loadOrtApi();
  const loader = (environment.variables["LD_LIBRARY_PATH"] ?? "").split(delimiter).map((folder) => join(folder, "libvulkan.so.1")).find((path) => existsSync(path));
  if (loader !== undefined) held.push(koffi.load(loader));
  return environment;
}

/** koffi unloads a library when its handle is collected. */
const held: unknown[] = [];

/** SwiftShader out of the npm package, whose browser stays packed. */
async function unpacked(directory: string): Promise<string | undefined> {
  let entry: string;
  try {
    entry = require.resolve("@sparticuz/chromium");
  } catch {
    return undefined;
  }
  const archive = join(entry, "..", "..", "..", "bin", "swiftshader.tar.br");
  if (!existsSync(archive)) return undefined;
  await x({ file: archive, cwd: directory, brotli: true });
  return join(directory, "vk_swiftshader_icd.json");
}
