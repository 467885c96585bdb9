import { closeSync, openSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { chaosNow } from "../chaos/chaos.js";
import type { Report } from "./protocol.js";

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A report before it has its number. */
export type ReportBody = Without<Report, "attemptUid" | "seq" | "time">;

type Ended = Extract<Report, { readonly type: "ended" }>;

/** From which size on the next lines go to a new file: those that were acknowledged can be removed. */
const segmentBytes = 8 * 2 ** 20;

/** What is held in memory of a journal that is on disk. */
const recentBytes = 512 * 1024;

/** Read from disk at once. */
const chunkBytes = 256 * 1024;

interface Segment {
  readonly path: string;
  /** Number of its first report. */
  readonly first: number;
}

/**
 * What happens to one attempt, numbered and in order, until it has been acknowledged. With a directory everything is with the operating system before
 * the next event is taken: a worker that is killed loses nothing that it had heard. The end stands in a file of its own, written before it is told.
 */
export class Journal {
  readonly #attemptUid: string;
  readonly #directory: string | undefined;
  readonly #changed: () => void;
  #lastSeq = 0;
  #acknowledged = 0;
  #recent: Report[] = [];
  #recentSize = 0;
  #unwritten: string[] = [];
  #segments: Segment[] = [];
  #file: { readonly descriptor: number; bytes: number } | undefined;
  #ended: Ended | undefined;
  /** Where the next read from disk goes on. */
  #reader: { readonly seq: number; readonly path: string; readonly offset: number } | undefined;
  /** Set while the disk refuses: everything is then kept in memory until it takes it. */
  #diskFailing = false;

  /**
   * @param attemptUid - whose it is
   * @param directory - where it is kept. Default: in memory
   * @param changed - called when there is something new
   */
  constructor(attemptUid: string, directory: string | undefined, changed: () => void) {
    this.#attemptUid = attemptUid;
    this.#directory = directory;
    this.#changed = changed;
  }

  /** The journal that an earlier process has left. A line that it did not finish is cut off. */
  static recover(attemptUid: string, directory: string, changed: () => void): Journal {
    const journal = new Journal(attemptUid, directory, changed);
    journal.#segments = readdirSync(directory)
      .flatMap((name) => {
        const first = /^journal-(\d+)\.jsonl$/.exec(name)?.[1];
        return first === undefined ? [] : [{ path: join(directory, name), first: Number(first) }];
      })
      .sort((a, b) => a.first - b.first);
    const last = journal.#segments.at(-1);
    if (last !== undefined) journal.#lastSeq = cutLastLine(last);
    journal.#ended = readEnded(attemptUid, directory);
    if (journal.#ended !== undefined) journal.#lastSeq = journal.#ended.seq;
    return journal;
  }

  /** Number of the last report. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Up to which number they were acknowledged. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Set with the last report. */
  get ended(): Ended | undefined {
    return this.#ended;
  }

  /** Adds a report. After the end nothing is taken any more. */
  append(body: Exclude<ReportBody, { readonly type: "ended" }>): void {
    if (this.#ended !== undefined) return;
    const report = this.#number(body);
    this.#remember(report);
    if (this.#directory !== undefined) {
      const { attemptUid: _, ...line } = report;
      this.#unwritten.push(JSON.stringify(line));
      if (this.#unwritten.length === 1) queueMicrotask(() => this.#write());
    }
    this.#changed();
  }

  /** Adds the last report. */
  end(body: Without<Ended, "attemptUid" | "seq" | "time" | "type">): void {
    if (this.#ended !== undefined) return;
    this.#write();
    const report = this.#number({ type: "ended" as const, ...body }) as Ended;
    try {
      if (this.#directory !== undefined) writeEnded(this.#directory, report);
    } catch {
      // Told all the same: a full disk must not make a task run for ever. A worker that dies now will take it for lost.
    }
    this.#ended = report;
    this.#remember(report);
    this.#closeFile();
    this.#changed();
  }

  /** Says that the reports up to that number are stored elsewhere. */
  acknowledge(seq: number): void {
    if (seq <= this.#acknowledged) return;
    this.#acknowledged = Math.min(seq, this.#lastSeq);
    let drop = 0;
    for (let each = this.#recent[drop]; each !== undefined && each.seq <= this.#acknowledged; each = this.#recent[drop]) {
      this.#recentSize -= sizeOf(each);
      drop += 1;
    }
    if (drop > 0) this.#recent = this.#recent.slice(drop);
    for (let next = this.#segments[1]; next !== undefined && next.first <= this.#acknowledged + 1; next = this.#segments[1]) {
      const [done] = this.#segments.splice(0, 1);
      if (done !== undefined) rmSync(done.path, { force: true });
    }
  }

  /**
   * The reports behind a number, as many as fit together well; none when there is none.
   *
   * @throws what the disk answers
   */
  async read(after: number): Promise<Report[]> {
    if (after >= this.#lastSeq) return [];
    const held = this.#recent[0];
    if (held !== undefined && held.seq <= after + 1) return this.#fromMemory(after + 1 - held.seq);
    const reports = await this.#fromDisk(after);
    // All that is on disk has been read: what is left is the end.
    return reports.length === 0 && this.#ended !== undefined ? [this.#ended] : reports;
  }

  /** Closes the file for writing. */
  close(): void {
    this.#write();
    this.#closeFile();
  }

  #number<B extends ReportBody>(body: B): Report {
    this.#lastSeq += 1;
    return { attemptUid: this.#attemptUid, seq: this.#lastSeq, time: Date.now(), ...body } as unknown as Report;
  }

  #remember(report: Report): void {
    this.#recent.push(report);
    this.#recentSize += sizeOf(report);
    if (this.#directory === undefined || this.#recentSize <= recentBytes || this.#diskFailing) return;
    this.#write();
    if (this.#unwritten.length > 0) return;
    let drop = 0;
    while (this.#recentSize > recentBytes / 2 && drop < this.#recent.length - 1) {
      this.#recentSize -= sizeOf(this.#recent[drop] as Report);
      drop += 1;
    }
    this.#recent = this.#recent.slice(drop);
  }

  #fromMemory(from: number): Report[] {
    let bytes = 0;
    let to = from;
    while (to < this.#recent.length && (to === from || bytes < chunkBytes)) {
      bytes += sizeOf(this.#recent[to] as Report);
      to += 1;
    }
    return this.#recent.slice(from, to);
  }

  async #fromDisk(after: number): Promise<Report[]> {
    const wanted = after + 1;
    const place = this.#segments.findLastIndex(({ first }) => first <= wanted);
    for (const [index, segment] of this.#segments.slice(Math.max(0, place)).entries()) {
      const offset = this.#reader?.seq === wanted && this.#reader.path === segment.path ? this.#reader.offset : 0;
      const file = await open(segment.path, "r");
      try {
        const found = await this.#readLines(file, segment.path, offset, wanted);
        if (found.length > 0) return found;
      } finally {
        await file.close();
      }
      if (index === 1) break;
    }
    return [];
  }

  async #readLines(file: FileHandle, path: string, start: number, wanted: number): Promise<Report[]> {
    const reports: Report[] = [];
    const buffer = Buffer.allocUnsafe(chunkBytes);
    let rest: Buffer = Buffer.alloc(0);
    let offset = start;
    while (reports.length === 0) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset + rest.length);
      if (bytesRead === 0) return [];
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let at = 0;
      for (let end = bytes.indexOf(0x0a, at); end >= 0; end = bytes.indexOf(0x0a, at)) {
        const line = JSON.parse(bytes.toString("utf8", at, end)) as Without<Report, "attemptUid">;
        if (line.seq >= wanted) reports.push({ attemptUid: this.#attemptUid, ...line } as unknown as Report);
        at = end + 1;
      }
      offset += at;
      rest = bytes.subarray(at);
    }
    this.#reader = { seq: wanted + reports.length, path, offset };
    return reports;
  }

  #write(): void {
    if (this.#directory === undefined || this.#unwritten.length === 0) return;
    try {
      chaosNow("log.append");
      const first = this.#lastSeq - this.#unwritten.length + 1 - (this.#ended === undefined ? 0 : 1);
      const file = this.#openFile(this.#directory, first);
      const bytes = Buffer.from(`${this.#unwritten.join("\n")}\n`);
      const before = file.bytes;
      try {
        for (let done = 0; done < bytes.length; ) done += writeSync(file.descriptor, bytes, done);
      } catch (error) {
        // Half a line must not stay: the whole is written again.
        truncateSync(this.#segments.at(-1)?.path ?? "", before);
        throw error;
      }
      file.bytes += bytes.length;
      this.#unwritten = [];
      this.#diskFailing = false;
    } catch {
      // Kept in memory, all of it, and tried again with the next report.
      this.#diskFailing = true;
    }
  }

  #openFile(directory: string, first: number): { readonly descriptor: number; bytes: number } {
    if (this.#file !== undefined && this.#file.bytes > segmentBytes) this.#closeFile();
    if (this.#file !== undefined) return this.#file;
    const path = join(directory, `journal-${String(first).padStart(12, "0")}.jsonl`);
    const descriptor = openSync(path, "a", 0o600);
    this.#segments.push({ path, first });
    return (this.#file = { descriptor, bytes: 0 });
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
    this.#file = undefined;
  }
}

/** About the bytes of a report. */
export function sizeOf(report: Report): number {
  if (report.type === "log") return 200 + report.message.length + (report.fields === undefined ? 0 : JSON.stringify(report.fields).length);
  return 200 + (report.type === "ended" && report.outcome.kind === "returned" ? report.outcome.value.length : JSON.stringify(report).length);
}

const endedFile = "exit.json";

function writeEnded(directory: string, report: Ended): void {
  const { attemptUid: _, outcome, ...rest } = report;
  const plain = outcome.kind === "returned" ? { ...outcome, value: Buffer.from(outcome.value).toString("base64") } : outcome;
  const path = join(directory, endedFile);
  writeFileSync(`${path}.tmp`, JSON.stringify({ ...rest, outcome: plain }), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

function readEnded(attemptUid: string, directory: string): Ended | undefined {
  let text: string;
  try {
    text = readFileSync(join(directory, endedFile), "utf8");
  } catch {
    return undefined;
  }
  const { outcome, ...rest } = JSON.parse(text) as Ended;
  const value = (outcome as { readonly value?: unknown }).value;
  return { ...rest, attemptUid, outcome: outcome.kind === "returned" ? { kind: "returned", value: new Uint8Array(Buffer.from(String(value), "base64")) } : outcome };
}

/** Cuts off what follows the last line's end, and gives the number of the last line. */
function cutLastLine({ path, first }: Segment): number {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf(0x0a);
  if (end + 1 < bytes.length) truncateSync(path, end + 1);
  if (end < 0) return first - 1;
  const start = bytes.lastIndexOf(0x0a, end - 1) + 1;
  return (JSON.parse(bytes.toString("utf8", start, end)) as { readonly seq: number }).seq;
}
