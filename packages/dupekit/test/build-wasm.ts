/** Compiles assembly/ to WebAssembly and writes the bytes as src/wasm/kernels-binary.ts: `pnpm --filter @marin/dupekit build:wasm`. */
import { writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { main } from "assemblyscript/asc";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** The bytes of the module. The same sources and compiler give the same ones. */
export async function compileKernels(): Promise<Uint8Array> {
  let binary: Uint8Array | undefined;
  let messages = "";
  const options = ["--baseDir", folder, "--outFile", "kernels.wasm", "--runtime", "stub", "--optimizeLevel", "3", "--shrinkLevel", "0", "--converge", "--noAssert", "--use", "abort=", "--enable", "simd"];
  const { error } = await main(["assembly/index.ts", ...options], {
    stderr: {
      write: (chunk) => {
        messages += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
      },
    },
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") binary = contents;
    },
  });
  if (error !== null || binary === undefined) throw new Error(`assembly/ does not compile:\n${messages}`, { cause: error });
  return binary;
}

/** The module that carries them. */
export function kernelsSource(binary: Uint8Array): string {
  return `// Made from assembly/ by \`pnpm --filter @marin/dupekit build:wasm\`; not edited by hand.\nexport const kernelsBinary =\n  "${Buffer.from(binary).toString("base64")}";\n`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await writeFile(new URL("../src/wasm/kernels-binary.ts", import.meta.url), kernelsSource(await compileKernels()));
}
