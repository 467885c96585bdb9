import type { Observations } from "./s3-observations.js";

/** Asks a server of Google Cloud Storage's JSON API the same questions as any other, and notes what matters to storage. */
export async function observeGcs(endpoint: string): Promise<Observations> {
  const seen: Record<string, unknown> = {};
  const generations = new Map<string, string>();
  const objects = `${endpoint}/storage/v1/b/bucket/o`;
  const ask = async (name: string, url: string, init: RequestInit = {}, pick: (value: Record<string, unknown>) => unknown = ({ name: object, size, md5Hash, crc32c, metadata }) => ({ object, size, md5Hash, crc32c, metadata })): Promise<Record<string, unknown>> => {
    const response = await fetch(url, init);
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    const value = ((isJson && text !== "" ? JSON.parse(text) : null) ?? {}) as Record<string, unknown>;
    seen[name] = response.ok ? { status: response.status, answer: isJson ? pick(value) : text, range: response.headers.get("content-range") } : { refused: response.status };
    if (typeof value["generation"] === "string") generations.set(String(value["name"]), value["generation"]);
    return { ...value, location: response.headers.get("location") };
  };
  const upload = (name: string, object: string, content: string, query = ""): Promise<unknown> =>
    ask(name, `${endpoint}/upload/storage/v1/b/bucket/o?uploadType=media&name=${encodeURIComponent(object)}${query}`, { method: "POST", headers: { "content-type": "text/plain" }, body: content });
  const listed = ({ items = [], prefixes = [], nextPageToken }: Record<string, unknown>): unknown => ({ names: (items as { readonly name: string; readonly size: string }[]).map(({ name, size }) => [name, size]), prefixes, more: nextPageToken !== undefined });
  const at = (object: string): string => `${objects}/${encodeURIComponent(object)}`;

  await upload("upload", "a", "0123456789");
  await ask("describe", at("a"));
  await ask("download", `${at("a")}?alt=media`);
  await ask("range", `${at("a")}?alt=media`, { headers: { range: "bytes=2-4" } });
  await ask("open range", `${at("a")}?alt=media`, { headers: { range: "bytes=7-" } });
  await ask("range beyond the end", `${at("a")}?alt=media`, { headers: { range: "bytes=7-99" } });
  await ask("range behind the end", `${at("a")}?alt=media`, { headers: { range: "bytes=10-" } });
  await ask("describe nothing", at("none"));
  await ask("download nothing", `${at("none")}?alt=media`);
  await upload("write if nothing is there, and something is", "a", "x", "&ifGenerationMatch=0");
  await upload("write if nothing is there", "cond", "one", "&ifGenerationMatch=0");
  await upload("write if it matches, and it does not", "cond", "x", "&ifGenerationMatch=1");
  await upload("write if it matches", "cond", "two", `&ifGenerationMatch=${generations.get("cond") ?? ""}`);
  await ask("what conditional writes left", `${at("cond")}?alt=media`);
  await upload("a name in need of escapes", "b ü+/#?", "x");
  await ask("download it", `${at("b ü+/#?")}?alt=media`);
  for (const name of ["l/1", "l/2", "l/d/3", "l/d/4", "l/é", "l-x"]) await upload(`upload ${name}`, name, name);
  await ask("list", `${objects}?prefix=l/`, {}, listed);
  await ask("list a directory", `${objects}?prefix=l/&delimiter=/`, {}, listed);
  await ask("list nothing", `${objects}?prefix=none/`, {}, listed);
  const first = await ask("list, first page", `${objects}?prefix=l/&maxResults=2`, {}, listed);
  await ask("list, second page", `${objects}?prefix=l/&maxResults=2&pageToken=${encodeURIComponent(String(first["nextPageToken"]))}`, {}, listed);
  await ask("list, no bucket", `${endpoint}/storage/v1/b/no-such-bucket/o`, {}, listed);
  await ask("copy", `${at("a")}/rewriteTo/b/bucket/o/copied`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }, ({ done, resource }) => ({ done, size: (resource as Record<string, unknown>)["size"] }));
  await ask("what a copy made", `${at("copied")}?alt=media`);
  await ask("copy nothing", `${at("none")}/rewriteTo/b/bucket/o/copied`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const { location } = await ask("begin an upload in pieces", `${endpoint}/upload/storage/v1/b/bucket/o?uploadType=resumable&name=pieces`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ metadata: { mark: "m" } }) }, () => "begun");
  const piece = Buffer.alloc(256 << 10, 5);
  await ask("the first piece", String(location), { method: "PUT", headers: { "content-range": `bytes 0-${String(piece.length - 1)}/*` }, body: piece });
  await ask("the last piece", String(location), { method: "PUT", headers: { "content-range": `bytes ${String(piece.length)}-${String(piece.length + 2)}/${String(piece.length + 3)}` }, body: "end" });
  await ask("what pieces made", at("pieces"));
  await ask("delete", at("a"), { method: "DELETE" });
  await ask("delete nothing", at("a"), { method: "DELETE" });
  return seen;
}
