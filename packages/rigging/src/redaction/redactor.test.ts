import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { looksLikeCredential, maskCredentialForms, namesSecret } from "./credential-patterns.js";
import { toPlain } from "./plain.js";
import { Redactor } from "./redactor.js";

const bytes = (text: string): Buffer => Buffer.from(text, "utf8");

/** Whether the bytes of a text, or what any run of base64 or hexadecimal in it decodes to, hold the secret's bytes. */
function shows(text: string, secret: string): boolean {
  if (bytes(text).includes(bytes(secret))) return true;
  for (const [run] of text.matchAll(/[A-Za-z0-9+/_-]{8,}/g)) {
    for (let skip = 0; skip < 4; skip++) {
      if (Buffer.from(run.slice(skip), "base64").includes(bytes(secret))) return true;
    }
    for (const skip of [0, 1]) if (Buffer.from(run.slice(skip), "hex").includes(bytes(secret))) return true;
  }
  for (const decode of [decodeURIComponent, (quoted: string) => JSON.parse(`"${quoted}"`) as string]) {
    try {
      if (bytes(decode(text)).includes(bytes(secret))) return true;
    } catch {
      // The text as a whole is not of that encoding.
    }
  }
  return false;
}

const secret = fc.oneof(fc.string({ minLength: 8, maxLength: 40, unit: "grapheme" }), fc.base64String({ minLength: 8, maxLength: 64 }), fc.string({ minLength: 8, maxLength: 40, unit: "binary" })).filter((text) => text.trim().length >= 8 && bytes(text).toString() === text);
const around = fc.string({ maxLength: 20 });

test("a value never shows, whatever stands around it and whatever encoding it went through", () => {
  const encode = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => JSON.stringify({ text }),
    (text) => JSON.stringify(JSON.stringify({ text })),
    (text) => encodeURIComponent(text),
    (text) => new URLSearchParams({ text }).toString(),
    (text) => bytes(text).toString("base64"),
    (text) => bytes(text).toString("base64url"),
    (text) => bytes(text).toString("hex"),
  );
  fc.assert(
    fc.property(secret, around, around, encode, (value, before, after, encoded) => {
      const redactor = new Redactor();
      redactor.add(value, "key");
      const text = encoded(before + value + after);
      fc.pre(shows(text, value));
      const masked = redactor.redact(text);
      expect(shows(masked, value)).toBe(false);
      expect(masked).toContain("[secret");
    }),
    { numRuns: 1000 },
  );
});

test("text without secrets stays as it is, byte for byte", () => {
  const redactor = new Redactor();
  redactor.add("correct horse battery staple", "key");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(redactor.redact(text)).toBe(text);
    }),
  );
  for (const text of ["step 3 of 7, loss=3.25 tokens=1024 tokensPerSecond=9e3", "https://example.com/a?b=c#d", "gs://bucket/key=3/part-0.parquet", "user@example.com", "sk-learn and hf_hub", "--max-tokens 5", "KEY=3", "the secret of the token"]) {
    expect(redactor.redact(text)).toBe(text);
  }
});

test("the longer of two values that overlap is masked whole, and what is empty or tiny masks nothing", () => {
  const redactor = new Redactor();
  redactor.add("hunter2", "short");
  redactor.add("hunter2-and-more", "long");
  redactor.add("", "empty");
  redactor.add("abc", "tiny");
  redactor.add("$&$1", "dollars");
  expect(redactor.redact("hunter2-and-more, hunter2, abc, $&$1")).toBe("[secret long], [secret short], abc, [secret dollars]");
});

test("each line of a key of several lines is masked", () => {
  const redactor = new Redactor();
  redactor.add("first-line-of-it\r\nsecond-line-of-it\nend\n", "pem");
  expect(redactor.redact("log 1: second-line-of-it")).toBe("log 1: [secret pem]");
});

test("the environment's secrets are known by their variables' names", () => {
  const redactor = new Redactor();
  redactor.addEnvironment({ HF_TOKEN: "value-one", AWS_SECRET_ACCESS_KEY: "value-two", MARIN_SECRET_X: "value-three", DB_PASSWORD: "value-four", TOKEN_FILE: "/run/token", API_TOKEN: "env:OTHER", PATH: "/usr/bin", EMPTY_TOKEN: undefined });
  expect(redactor.redact("value-one value-two value-three value-four /run/token env:OTHER /usr/bin")).toBe("[secret HF_TOKEN] [secret AWS_SECRET_ACCESS_KEY] [secret MARIN_SECRET_X] [secret DB_PASSWORD] /run/token env:OTHER /usr/bin");
});

test("what looks like a credential is masked, and the text around it stays", () => {
  const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl";
  for (const [text, masked] of [
    ["Authorization: Bearer abc.def-123", "Authorization: [secret]"],
    ['{"authorization":"Basic YWRhOmtleQ=="}', '{"authorization":"[secret]"}'],
    ["sent Bearer abcdefgh12345 to it", "sent Bearer [secret] to it"],
    ["https://ada:pa55@example.com/x", "https://[secret]@example.com/x"],
    ["postgres://u:p@h/db", "postgres://[secret]@h/db"],
    ["GET /o?name=a&X-Goog-Signature=abcdef&alt=media", "GET /o?name=a&X-Goog-Signature=[secret]&alt=media"],
    ["HF_TOKEN=abc run --api-key xyz --token=uvw --steps 3", "HF_TOKEN=[secret] run --api-key [secret] --token=[secret] --steps 3"],
    ["DB_PASSWORD='a b' go", "DB_PASSWORD=[secret] go"],
    [`token ${jwt} ended`, "token [secret] ended"],
    ["key sk-abcdefghijklmnop1234", "key [secret]"],
    ["-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- end", "[secret] end"],
    ["cut -----BEGIN RSA PRIVATE KEY-----\nMIIE", "cut [secret]"],
  ] as const) {
    expect(maskCredentialForms(text)).toBe(masked);
    expect(maskCredentialForms(masked)).toBe(masked);
  }
  expect(looksLikeCredential(jwt)).toBe(true);
  expect(looksLikeCredential("openai_api_key")).toBe(false);
  for (const name of ["HF_TOKEN", "apiKey", "api_key", "password", "Authorization", "clientSecret", "set-cookie"]) expect(namesSecret(name)).toBe(true);
  for (const name of ["tokens", "tokenizer", "key", "maxTokens", "secretary", "monkey", "path"]) expect(namesSecret(name)).toBe(false);
});

test("no text, however it was made, takes time out of proportion to its length", () => {
  const parts = ["a", "-", "--", "-eyJ", "A_", "://", "a://", "=", " ", "bearer ", "authorization ", "?token", "-----BEGIN PRIVATE KEY-----", "sk-", "x://y:", '"', "\\"];
  for (const part of parts) {
    for (const hint of ["", " :// -- = eyJ bearer authorization"]) maskCredentialForms(hint + part.repeat(Math.ceil(200_000 / part.length)) + hint);
  }
  for (const [one, two] of parts.flatMap((first) => parts.map((second) => [first, second] as const))) maskCredentialForms((one + two).repeat(2000) + " ://");
});

test("any object becomes plain, without secrets in values, names, errors or notes", () => {
  const redactor = new Redactor();
  redactor.add("hunter2!", "key");
  const loop: Record<string, unknown> = { big: 1n, nan: NaN, nothing: undefined, fn: () => 1, bytes: new Uint8Array(3), list: new Set([1]), map: new Map([["a", 1]]), "hunter2!": 1, password: "plain", token: 3, inner: { at: new Date(0) } };
  loop["self"] = loop;
  Object.defineProperty(loop, "broken", { enumerable: true, get: () => { throw new Error("no hunter2!"); } });
  loop["error"] = Object.assign(new TypeError("bad hunter2!"), { code: "X" });
  expect(toPlain(loop, redactor)).toEqual({
    big: "1", nan: "NaN", bytes: "[Uint8Array of 3 bytes]", list: [1], map: { a: 1 }, "[secret key]": 1, password: "[secret]", token: 3, inner: { at: "1970-01-01T00:00:00.000Z" },
    self: "[cannot be written: it contains itself]", broken: "[cannot be written: no [secret key]]", error: { name: "TypeError", code: "X", message: "bad [secret key]" },
  });
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true, withDate: true, withNullPrototype: true, withSparseArray: true, withObjectString: true }), (value) => {
      const text = JSON.stringify(toPlain([value, { inner: "x hunter2! y" }], redactor));
      expect(JSON.parse(text)).toHaveLength(2);
      expect(text + inspect(text)).not.toContain("hunter2!");
    }),
    { numRuns: 300 },
  );
});
