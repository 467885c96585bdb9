import { connect } from "node:net";
import fc from "fast-check";

/** A request as it goes over the wire, right or wrong. */
export type RawRequest = readonly Buffer[];

const token = fc.constantFrom("", "Bearer x", "Bearer marin_abcdefghijkl_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Basic eDp5", "Basic ====", "Negotiate", "Bearer \u00ff", `Bearer ${"a".repeat(5_000)}`);
const path = fc.oneof(
  fc.constantFrom("/", "/job?job=/a", "/health", "/api/jobs", "/api/job", "/api/logs?job=x&follow=1", "/api/cancel", "/api/query", "/api/bug-report?job=/a", "/metrics", "/rpc", "/worker", "/style.css", `/bundles/sha256-${"0".repeat(64)}`, "/outputs/a.tar.gz", "*", "http://other.example/api/jobs", "//api/jobs", "/api//jobs", "/api/jobs/../../health", "/%00", "/%", "/%ff%fe", "/health%2f..%2fapi%2fjobs", "/api/jobs?__proto__[x]=1", "/constructor", "/HEALTH"),
  fc.string({ maxLength: 60 }).map((text) => `/${text}`),
  fc.webPath(),
  fc.tuple(fc.constantFrom("/api/jobs", "/job", "/api/logs", "/api/describe"), fc.webQueryParameters()).map(([at, query]) => `${at}?${query}`),
  fc.constant(`/${"a".repeat(20_000)}`),
);
const method = fc.oneof(fc.constantFrom("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PRI", "get", ""), fc.string({ maxLength: 8 }));
const headerLine = fc.oneof(
  fc.constantFrom("Host: 127.0.0.1", "Host:", "Host: evil.example", "Host: [::1", "Host: a b", "Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked, identity", "Content-Type: application/json", "Content-Type: application/json; charset=\u00ff", "Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 99", "Expect: 100-continue", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "X-Forwarded-For: 127.0.0.1", "Range: bytes=0-1,5-2", "Cookie: a=b", "Accept-Encoding: gzip", `X-Long: ${"x".repeat(20_000)}`),
  fc.tuple(fc.string({ maxLength: 20 }), fc.string({ maxLength: 40 })).map(([name, value]) => `${name}: ${value}`),
  token.map((value) => `Authorization: ${value}`),
);
const body = fc.oneof(
  fc.constant(""),
  fc.json({ maxDepth: 3 }),
  fc.constantFrom('{"sql":"select 1"}', '{"job":"/a"}', "[".repeat(10_000), '{"__proto__":{"x":1}}', "5\r\nhello\r\n0\r\n\r\n", "ffffffff\r\n", "0\r\n\r\nGET /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", "\u0000"),
  fc.string({ maxLength: 200 }),
);

/** What HTTP allows, so that it reaches the application: any path, query, headers and body. */
const wellFormed = fc
  .tuple(
    fc.constantFrom("GET", "GET", "GET", "POST", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE"),
    path.filter((text) => text.length < 10_000).map((text) => text.replace(/[^\x21-\x7e]/gu, (character) => (/^[\ud800-\udfff]$/.test(character) ? "x" : encodeURIComponent(character)))),
    fc.array(headerLine.filter((line) => /^[A-Za-z-]+: [\x20-\x7e]*$/.test(line) && !/^(?:host|content-length|transfer-encoding|x-long|expect)/i.test(line)), { maxLength: 4 }),
    fc.oneof(body, fc.record({ sql: fc.string({ maxLength: 40 }), maxRows: fc.anything() }).map((value) => JSON.stringify(value)), fc.record({ job: fc.string(), reason: fc.string() }).map((value) => JSON.stringify(value))),
    fc.boolean(),
  )
  .map(([verb, at, headers, text, chunked]) => {
    const bytes = Buffer.from(text);
    const kind = verb === "POST" ? ["Content-Type: application/json"] : [];
    const framed = chunked && bytes.length > 0 ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n0\r\n\r\n")]) : bytes;
    const length = chunked && bytes.length > 0 ? "Transfer-Encoding: chunked" : `Content-Length: ${String(bytes.length)}`;
    return Buffer.concat([Buffer.from([`${verb} ${at} HTTP/1.1`, "Host: 127.0.0.1", ...kind, ...headers, length, "", ""].join("\r\n")), framed]);
  });

/** What HTTP does not allow, mostly. */
const malformed = fc
  .tuple(method, path, fc.array(headerLine, { maxLength: 6 }), body, fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", ""), fc.constantFrom("\r\n", "\n"))
  .map(([verb, at, headers, text, version, end]) => Buffer.from([`${verb} ${at} ${version}`, ...headers, "", text].join(end), "utf8"));

/** A handshake for a WebSocket, and then noise as its frames. */
const upgrade = fc.tuple(fc.constantFrom("/rpc", "/worker", "/", "/rpc?x=1", "/health"), fc.uint8Array({ maxLength: 200 })).map(([at, frames]) =>
  Buffer.concat([Buffer.from(`GET ${at} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`), frames]),
);

/** Requests that a server may meet: well-formed ones with wrong contents, malformed ones, and noise, cut into pieces anywhere. */
export const rawRequests: fc.Arbitrary<RawRequest> = fc
  .oneof({ weight: 6, arbitrary: wellFormed }, { weight: 2, arbitrary: malformed }, { weight: 1, arbitrary: upgrade }, { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) })
  .chain((bytes) =>
    fc.array(fc.nat(Math.max(bytes.length, 1)), { maxLength: 2 }).map((cuts) => {
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
    }),
  );

/**
 * Sends a request and gives all that comes back. The sending side is closed, as by a client that has said all it has to say; a server that
 * then neither answers nor closes within `hangMs` hangs.
 */
export function exchange(port: number, request: RawRequest, hangMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end after ${String(hangMs)} ms of ${JSON.stringify(Buffer.concat(request).toString("latin1").slice(0, 500))}`));
    }, hangMs);
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.setEncoding("latin1").on("data", (part: string) => {
      // An answer that goes on for ever is read no further than needed.
      if (answer.length < 65_536) answer += part;
      else finish();
    });
    socket.on("end", finish).on("close", finish).on("error", finish);
    for (const part of request) socket.write(part);
    socket.end();
  });
}
