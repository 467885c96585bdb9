import fc from "fast-check";
import { expect, test } from "vitest";
import { StoragePath } from "./path.js";

test.each([
  ["gs://bucket/data//a.jsonl", "gs", "bucket", ["data", "a.jsonl"], "gs://bucket/data/a.jsonl"],
  ["s3://bucket", "s3", "bucket", [], "s3://bucket"],
  ["GS://bucket/a/", "gs", "bucket", ["a"], "gs://bucket/a"],
  ["/tmp/./x/../a", "", "", ["tmp", "a"], "/tmp/a"],
  ["../x/a", "", "", ["..", "x", "a"], "../x/a"],
  ["./", "", "", [], "."],
  ["hf://datasets/owner/name@main/a", "hf", "datasets", ["owner", "name@main", "a"], "hf://datasets/owner/name@main/a"],
])("%s is taken apart", (text, scheme, authority, segments, written) => {
  const path = StoragePath.parse(text);
  expect({ scheme: path.scheme, authority: path.authority, segments: path.segments, written: String(path) }).toEqual({ scheme, authority, segments, written });
  expect(JSON.stringify([path])).toBe(JSON.stringify([written]));
});

test("names, extensions, parents, what lies in what", () => {
  const path = StoragePath.parse("gs://bucket/data/a.tar.gz");
  expect([path.name, path.extension, String(path.parent), String(path.parent.parent.parent)]).toEqual(["a.tar.gz", ".gz", "gs://bucket/data", "gs://bucket"]);
  expect([StoragePath.parse("a/.gitignore").extension, StoragePath.parse("a/b").extension, StoragePath.parse("gs://b").name]).toEqual(["", "", ""]);
  expect(path.relativeTo(StoragePath.parse("gs://bucket"))).toBe("data/a.tar.gz");
  expect(path.isWithin(StoragePath.parse("gs://bucket/dat"))).toBe(false);
  expect(() => path.relativeTo(StoragePath.parse("gs://other"))).toThrow(expect.objectContaining({ code: "RIGGING_BAD_PATH" }) as Error);
  expect(StoragePath.parse("file:///tmp/a%20b").segments).toEqual(["tmp", "a b"]);
});

test("joining refuses what would leave the path", () => {
  const base = StoragePath.parse("gs://bucket/data");
  expect(String(base.join("a", "b/c"))).toBe("gs://bucket/data/a/b/c");
  for (const part of ["", "/etc/passwd", "gs://other/a", "file:///a", "https://host/a", "..", "a/../../b", "a\0b", "C:/a"]) {
    expect(() => base.join(part), part).toThrow(expect.objectContaining({ code: "RIGGING_BAD_PATH" }) as Error);
  }
  for (const text of ["", "a\0b", "gs://", "gs:///a", "gs://bucket/../other", "/..", "/a/../.."]) expect(() => StoragePath.parse(text), text).toThrow(expect.objectContaining({ code: "RIGGING_BAD_PATH" }) as Error);
});

test("whatever is joined stays inside, and what is written reads back the same", () => {
  const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !/[/\\\0]/.test(text) && text !== "." && text !== ".." && !/^[a-z][a-z0-9+.-]*:/i.test(text));
  fc.assert(
    fc.property(fc.constantFrom("gs://bucket/a", "/tmp", "relative/x", "memory://m"), fc.array(name, { minLength: 1, maxLength: 4 }), (root, names) => {
      const base = StoragePath.parse(root);
      const joined = base.join(...names);
      expect(joined.isWithin(base)).toBe(true);
      expect(joined.relativeTo(base)).toBe(names.join("/"));
      expect(StoragePath.parse(String(joined)).segments).toEqual(joined.segments);
    }),
  );
});
