import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { MarinError } from "@marin/iris";

/** The version of ONNX Runtime whose C API the table indices and the promised bits belong to. */
export const runtimeVersion = "1.30.0";

/** Platforms for which the `onnxruntime-node` package holds the library, as `platform/arch` in Node's words. */
const shipped = ["linux/x64", "linux/arm64", "darwin/arm64", "win32/x64", "win32/arm64"];

/** File names of the library by platform, the preferred name first; macOS packages hold it under two names. */
const fileNames: Readonly<Record<string, readonly string[]>> = {
  linux: ["libonnxruntime.so.1", `libonnxruntime.so.${runtimeVersion}`],
  darwin: [`libonnxruntime.${runtimeVersion}.dylib`, "libonnxruntime.1.dylib"],
  win32: ["onnxruntime.dll"],
};

/** Where a search for the library looks; everything that decides its result. */
export interface LibrarySearch {
  /** `process.platform`. */
  readonly platform: string;
  /** `process.arch`. */
  readonly arch: string;
  /** Root folder of the installed `onnxruntime-node` package. */
  readonly packageRoot: string;
  /** Names of the files in a folder; empty when there is no such folder. */
  readonly list: (folder: string) => readonly string[];
}

/**
 * Path of ONNX Runtime's shared library inside an installed `onnxruntime-node`.
 *
 * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE` when the package holds no library for the platform, or the installed copy lacks it.
 */
export function locateLibrary(search: LibrarySearch): string {
  const { platform, arch, packageRoot } = search;
  const target = `${platform}/${arch}`;
  const data = { package: "onnxruntime-node", platform, arch, packageRoot };
  const names = fileNames[platform];
  if (names === undefined || !shipped.includes(target)) {
    throw new MarinError(
      "LEVANTER_RUNTIME_UNAVAILABLE",
      `onnxruntime-node ${runtimeVersion} holds no native runtime for ${target}; it holds ${shipped.join(", ")}. Use engine "wasm" here.`,
      { data },
    );
  }
  const folder = join(packageRoot, "bin", "napi-v6", platform, arch);
  const present = search.list(folder);
  const name = names.find((candidate) => present.includes(candidate));
  if (name === undefined) {
    throw new MarinError(
      "LEVANTER_RUNTIME_UNAVAILABLE",
      `${folder} holds none of ${names.join(", ")}: the installed onnxruntime-node is incomplete. Reinstall it: pnpm install --force`,
      { data: { ...data, folder, expected: names } },
    );
  }
  return join(folder, name);
}

/**
 * Path of the library in this process's installation.
 *
 * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE` when `onnxruntime-node` or its library for this platform is absent.
 */
export function installedLibrary(): string {
  let manifest: string;
  try {
    manifest = createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
  } catch (cause) {
    throw new MarinError("LEVANTER_RUNTIME_UNAVAILABLE", "the package onnxruntime-node is not installed. Install it: pnpm install --force", {
      data: { package: "onnxruntime-node" },
      cause,
    });
  }
  return locateLibrary({
    platform: process.platform,
    arch: process.arch,
    packageRoot: dirname(manifest),
    list: (folder) => (existsSync(folder) ? readdirSync(folder) : []),
  });
}

/** Throws unless `found` is the version whose function table and results are known. */
export function requireVersion(found: string, library: string): void {
  if (found === runtimeVersion) return;
  throw new MarinError(
    "LEVANTER_RUNTIME_VERSION",
    `${library} is ONNX Runtime ${found}; levanter needs exactly ${runtimeVersion}. Let no package.json ask for another, and reinstall: pnpm install --force`,
    { data: { found, expected: runtimeVersion, library } },
  );
}
