import { escapeControls } from "../escape.js";

/** Shorter forms of a value would mask text that has nothing to do with it. */
const minFormLength = 4;

/** Shorter cores of base64 say too little. */
const minEncodedLength = 8;

/**
 * The texts by which a secret may show: itself, its lines, and what URLs, JSON, JSON within JSON, hexadecimal and base64 make of it. Base64
 * depends on what stands before the value ("user:password"), so each of the three alignments gives a form, without the characters at its ends
 * that mix in the neighbours.
 *
 * @returns longest first, so that a part is not masked before the whole
 */
export function secretForms(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const bytes = Buffer.from(value, "utf8");
  const plain = [value, value.trim(), json, JSON.stringify(json).slice(1, -1), escapeControls(value), percentEncoded(value), new URLSearchParams({ v: value }).toString().slice(2)];
  const lines = value.split(/\r?\n/).length > 1 ? value.split(/\r?\n/).map((line) => line.trim()) : [];
  const encoded = [bytes.toString("hex"), bytes.toString("hex").toUpperCase(), ...[0, 1, 2].flatMap((offset) => base64Core(bytes, offset))];
  const forms = [
    ...plain.filter((form) => form.length >= minFormLength),
    ...lines.filter((line) => line.length >= minEncodedLength),
    ...encoded.filter((form) => form.length >= minEncodedLength),
  ];
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

function percentEncoded(value: string): string {
  // Half a surrogate pair has no form in a URL; as bytes it becomes U+FFFD.
  return encodeURIComponent(Buffer.from(value, "utf8").toString("utf8"));
}

function base64Core(bytes: Buffer, offset: number): string[] {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
  const core = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.byteLength) * 8) / 6));
  return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
}
