import { expect, it } from "vitest";
import { judgeDeclaration } from "./declarations.mjs";

const path = "packages/levanter/dist/storage.d.ts";
const manifest = { name: "@marin/levanter", dependencies: { "@marin/iris": "workspace:*" } };

it("refuses a type that TypeScript inferred from a package which users of this one do not have", () => {
  expect(judgeDeclaration(path, 'export declare function storage(): import("@marin/rigging").Storage;', manifest)).toEqual([
    'packages/levanter/dist/storage.d.ts  marin/declarations  @marin/levanter must not show @marin/rigging in its types ("@marin/rigging"). ' +
      "Annotate the exported function or value with a type that @marin/levanter may import.",
  ]);
});

it("passes types of declared packages", () => {
  expect(judgeDeclaration(path, 'import type { Storage } from "@marin/iris";\nexport declare const storage: Storage;', manifest)).toEqual([]);
});

it("refuses another package even in a comment, and one that only the package's own checks install", () => {
  expect(judgeDeclaration(path, "/** As in @marin/zephyr. */\nexport {};", manifest)).toEqual([expect.stringContaining('must not show @marin/zephyr in its types ("@marin/zephyr").')]);
  const withTool = { ...manifest, devDependencies: { zod: "4.6.7" } };
  expect(judgeDeclaration(path, 'import type { ZodType } from "zod/v4";\nimport type { Readable } from "node:stream";\nexport type X = ZodType | Readable;', withTool)).toEqual([
    expect.stringContaining('must not show zod in its types ("zod/v4") without declaring it'),
  ]);
  expect(judgeDeclaration(path, 'export type { ZodType } from "zod";', { ...manifest, dependencies: { zod: "4.6.7" } })).toEqual([]);
});
