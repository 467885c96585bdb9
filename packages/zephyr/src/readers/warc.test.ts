import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { gather, memoryFile, readAll } from "../../test/read-all.js";
import { counted } from "../context.js";
import { readRecords } from "./records.js";

const fixture = (name: string): Buffer => readFileSync(new URL(`../../test/fixtures/warc/${name}`, import.meta.url));
const pages = fixture("pages.warc");
const texts = fixture("texts.warc.wet.gz");
const urn = (number: number): string => `<urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, "0")}>`;

describe("web archives", () => {
  test.each(["pages.warc", "pages.warc.gz"])("%s: headers, HTTP answers, bodies as they were stored", async (name) => {
    const records = await readAll(name, fixture(name));
    expect(records).toMatchObject([
      { type: "warcinfo", id: urn(0), date: "2024-05-18T03:00:00Z", body: new Uint8Array(Buffer.from("software: test\r\nformat: WARC File Format 1.0\r\n")) },
      { type: "response", id: urn(1), uri: "https://example.org/a", http: { status: 200, headers: { "content-type": "text/html; charset=utf-8", "x-two": "1, 2" } }, body: new Uint8Array(Buffer.from("<p>Grün</p>")) },
      { type: "response", id: urn(2), uri: "https://example.org/b", http: { status: 200 }, body: new Uint8Array(Buffer.from("\r\n\r\nWARC/1.0\r\n")) },
    ]);
    expect(await readAll(name, fixture(name), { settings: { types: ["warcinfo"] } })).toEqual(records.slice(0, 1));
  });

  test("a WET file gives the texts of its pages", async () => {
    expect(await readAll("CC-1.warc.wet.gz", texts)).toEqual([
      { id: urn(11), uri: "https://example.org/a", date: "2024-05-18T03:00:00Z", language: "deu", text: "Grün ist die Heide.\nZweite Zeile\n" },
      { id: urn(12), uri: "https://example.org/b", date: "2024-05-18T03:00:00Z", language: "eng", text: "The quick brown fox. ".repeat(30) },
      { id: urn(13), uri: "https://example.org/c", date: "2024-05-18T03:00:00Z", language: null, text: "" },
    ]);
  });

  test("the content of a WET file's page is text, whether a header says so or not", async () => {
    const typed = gunzipSync(texts).toString("latin1");
    const untyped = Buffer.from(typed.replaceAll(/Content-Type: text\/plain\r\n/gi, ""), "latin1");
    expect(untyped.length).toBeLessThan(typed.length);
    expect(await readAll("a.wet", untyped)).toEqual(await readAll("a.wet", Buffer.from(typed, "latin1")));
  });

  test("an archive cut anywhere but between records is an error that names record and byte", async () => {
    const starts = [...pages.toString("latin1").matchAll(/WARC\/1\.0\r\nWARC-(?:Type|Date)/g)].map(({ index }) => index);
    expect(starts).toHaveLength(3);
    for (let length = 1; length < pages.length; length += 7) {
      if (starts.includes(length)) continue;
      const inside = starts.filter((start) => start < length);
      await expect(readAll("a.warc", pages.subarray(0, length)), String(length)).rejects.toMatchObject({ code: "ZEPHYR_BAD_WARC", data: { path: "memory://a.warc", record: inside.length, offset: inside.at(-1) }, message: expect.stringContaining("cut short") as string });
    }
  });

  test("lines that end in line feeds alone, in the headers of records and of HTTP: the same records", async () => {
    const same = pages.toString("latin1").replaceAll(/WARC\/1\.0\r\nWARC-[^]*?\r\n\r\n/g, (head) => head.replaceAll("\r\n", "\n"));
    const records = await readAll("a.warc", pages);
    expect(await readAll("a.warc", Buffer.from(same, "latin1"))).toEqual(records);
    const loose = "HTTP/1.1 200 OK\nContent-Type: text/html\n\n<p>\r\n\r\n</p>";
    const archive = `WARC/1.0\nWARC-Type: response\nContent-Type: application/http\nContent-Length: ${String(loose.length)}\n\n${loose}\n\n`;
    expect(await readAll("a.warc", archive + archive)).toMatchObject(Array.from({ length: 2 }, () => ({ http: { status: 200, headers: { "content-type": "text/html" } }, body: new Uint8Array(Buffer.from("<p>\r\n\r\n</p>")) })));
    for (let length = archive.length - 1; length > 0; length -= 5) await expect(readAll("a.warc", archive.slice(0, length)), String(length)).rejects.toMatchObject({ code: "ZEPHYR_BAD_WARC", message: expect.stringContaining("cut short") as string });
    await expect(readAll("a.warc", `${archive.slice(0, -1)}WARC/1.0`)).rejects.toThrow("does not end where");
  });

  test("a length that does not fit, and what is no archive, are errors", async () => {
    const wrong = pages.toString("latin1").replace("Content-Length: 46", "Content-Length: 45");
    await expect(readAll("a.warc", Buffer.from(wrong, "latin1"))).rejects.toMatchObject({ code: "ZEPHYR_BAD_WARC", data: { record: 1, offset: 0 }, message: expect.stringContaining("does not end where") as string });
    await expect(readAll("a.warc", pages.toString("latin1").replace("Content-Length: 46\r\n", ""))).rejects.toThrow("Content-Length is missing");
    await expect(readAll("a.warc", '{"a":1}\n')).rejects.toThrow("does not begin with WARC/");
  });

  test("a text that is not UTF-8, and a record that is too long, are bad records: the others are read", async () => {
    const plain = gunzipSync(texts);
    const damaged = Buffer.from(plain);
    const at = plain.indexOf("Heide");
    damaged[at] = 0xff;
    await expect(readAll("a.wet", damaged)).rejects.toMatchObject({ code: "ZEPHYR_NOT_UTF8", data: { offset: at, byte: "0xff" } });
    const storage = await memoryFile("memory://a.wet", damaged);
    const { value, counters } = await counted(() => gather(readRecords("memory://a.wet", { storage, settings: { maxRecordBytes: 100 }, onBadRecord: { skip: true, sideFile: "memory://bad.jsonl" } })));
    expect(value).toMatchObject([{ id: urn(13) }]);
    expect(counters["bad-records"]).toMatchObject({ sum: 2 });
    expect(await gather(readRecords("memory://bad.jsonl", { storage }))).toMatchObject([{ code: "ZEPHYR_NOT_UTF8", offset: at }, { code: "ZEPHYR_RECORD_TOO_LONG", record: 3 }]);
  });
});
