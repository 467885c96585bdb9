import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Connection, connectWebSocket } from "@marin/ducky";
import { type Authenticator, Secret } from "@marin/rigging";
import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collect } from "../../test/collect.js";
import { type GivenAnswers, givenApi, line, summary } from "../../test/served-api.js";
import { createBundle } from "../bundles/bundle.js";
import { BundleStore } from "../bundles/bundle-store.js";
import { remoteIrisApi } from "../client/iris-service.js";
import type { WireStatus } from "../client/iris-api.js";
import { openStorage } from "../platform.js";
import { type IrisServer, type IrisServerOptions, startIrisServer } from "./server.js";

const servers: IrisServer[] = [];
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-server-"));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
  await rm(directory, { recursive: true, force: true });
});

async function serve(answers: GivenAnswers = {}, options: Partial<IrisServerOptions> = {}): Promise<string> {
  const server = await startIrisServer({ api: () => givenApi(answers), ...options });
  servers.push(server);
  return server.url;
}

/** Tokens by what they may do. */
function tokens(scopes: Readonly<Record<string, readonly string[]>>): Authenticator {
  return {
    name: "test",
    authenticate: (request) => {
      const [, token] = /^Bearer (.+)$/.exec(String(request.headers["authorization"] ?? "")) ?? [];
      if (request.headers["authorization"] !== undefined && token === undefined) return { outcome: "rejected", reason: "no such credentials" };
      if (token === undefined) return { outcome: "absent" };
      const found = scopes[token];
      return found === undefined ? { outcome: "rejected", reason: "the token is not known" } : { outcome: "authenticated", principal: { name: token, scopes: found, authenticator: "test" } };
    },
  };
}

const bearer = (token: string): { readonly headers: Record<string, string> } => ({ headers: { Authorization: `Bearer ${token}` } });
const post = (token: string, body: unknown): RequestInit => ({ method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: JSON.stringify(body) });

function elementsOf(node: DefaultTreeAdapterTypes.Node): DefaultTreeAdapterTypes.Element[] {
  const below = "childNodes" in node ? node.childNodes.flatMap(elementsOf) : [];
  return "attrs" in node ? [node, ...below] : below;
}

const status: WireStatus = {
  id: "/train", uid: "u1", name: "train", user: "ada", band: "INTERACTIVE", state: "RUNNING", submittedAt: "2026-01-01T00:00:00.000Z", error: null,
  tasks: [{ index: 0, state: "RUNNING", attempt: 1, ports: {}, attemptUid: "a2", attempts: [
    { uid: "a1", number: 0, state: "WORKER_FAILED", worker: "w1", assignedAt: "2026-01-01T00:00:00.000Z", cause: { kind: "node-lost", worker: "w1", message: "gone" } },
    { uid: "a2", number: 1, state: "RUNNING", worker: "w2", pid: 7, assignedAt: "2026-01-01T00:01:00.000Z", startedAt: "2026-01-01T00:01:01.000Z" },
  ] }],
};

describe("who may do what", () => {
  const paths = ["/", "/job?job=/train", "/style.css", "/api/jobs", "/api/job?job=/train", "/api/describe?job=/train", "/api/logs?job=/train", "/api/bug-report?job=/train", "/api/workers", "/api/users", "/metrics", `/bundles/sha256-${"0".repeat(64)}`, "/outputs/x", "/nothing", "/health/", "/HEALTH", "//health", "/%68ealth/x", "/api/../health/x"];

  it("health is open, and nothing else is without a token that holds", async () => {
    const calls: string[] = [];
    const url = await serve({ status, onCall: (name) => calls.push(name) }, { authenticators: [tokens({ reader: ["jobs:read"] })] });
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: "ok" });
    for (const path of paths) {
      for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        for (const headers of [{}, { Authorization: "Bearer wrong" }, { Authorization: "Basic eDp5" }, { "X-Forwarded-For": "127.0.0.1" }] as Record<string, string>[]) {
          const response = await fetch(url + path, { method, headers });
          expect(`${method} ${path} ${String(response.status)}`).toBe(`${method} ${path} 401`);
          expect(response.headers.get("www-authenticate")).toContain("Bearer");
          await response.arrayBuffer();
        }
      }
    }
    for (const path of ["/rpc", "/worker", "/", "/nothing"]) await expect(connectWebSocket(url.replace("http", "ws") + path)).rejects.toMatchObject({ code: expect.stringMatching(/^DUCKY_(?:UNAUTHORIZED|CONNECT_FAILED)$/) as string });
    expect(calls).toEqual([]);
  });

  it("a token opens what its scopes say, over HTTP and over calls", async () => {
    const url = await serve({ status }, { authenticators: [tokens({ reader: ["jobs:read"], writer: ["jobs:*"], operator: ["*"], worker: ["workers:join"] })] });
    const codes = async (token: string): Promise<number[]> => {
      const asked: [string, RequestInit][] = [["/api/job?job=/train", bearer(token)], ["/api/cancel", post(token, { job: "/train" })], ["/api/workers", bearer(token)], ["/metrics", bearer(token)], ["/api/query", post(token, { sql: "select 1" })], [`/bundles/sha256-${"0".repeat(64)}`, { ...bearer(token), method: "PUT", body: "x" }]];
      return Promise.all(asked.map(async ([path, init]) => (await fetch(url + path, init)).status));
    };
    expect(await codes("reader")).toEqual([200, 403, 403, 403, 403, 403]);
    expect(await codes("writer")).toEqual([200, 200, 403, 403, 403, 404]);
    expect(await codes("operator")).toEqual([200, 200, 200, 200, 400, 404]);
    expect(await codes("worker")).toEqual([403, 403, 403, 403, 403, 403]);
    const connect = async (token: string): Promise<ReturnType<typeof remoteIrisApi>> => remoteIrisApi(new Connection(await connectWebSocket(`${url.replace("http", "ws")}/rpc`, { token })));
    const reader = await connect("reader");
    expect(await reader.status({ job: "/train" })).toMatchObject({ id: "/train" });
    await expect(reader.workers({})).rejects.toMatchObject({ code: "RIGGING_FORBIDDEN" });
    await expect(reader.setBudget({ user: "ada", budget: 1 })).rejects.toMatchObject({ code: "RIGGING_FORBIDDEN" });
    expect(await (await connect("operator")).workers({})).toHaveLength(1);
    await expect(connectWebSocket(`${url.replace("http", "ws")}/rpc`, { token: "worker" })).rejects.toMatchObject({ code: "DUCKY_REFUSED" });
    // Nobody takes workers here.
    await expect(connectWebSocket(`${url.replace("http", "ws")}/worker`, { token: "operator" })).rejects.toMatchObject({ code: "DUCKY_CONNECT_FAILED" });
  });

  it("on loopback this machine may do everything, web pages of others and names that point here nothing", async () => {
    const url = await serve({ status });
    expect((await fetch(`${url}/api/job?job=/train`)).status).toBe(200);
    const { port } = new URL(url);
    const ask = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        httpRequest({ port, path: "/api/job?job=/train", headers }, (response) => (response.resume(), resolve(response.statusCode))).on("error", reject).end();
      });
    for (const headers of [{ host: "evil.example" }, { origin: "http://evil.example" }, { "sec-fetch-site": "cross-site" }, { "x-forwarded-for": "10.0.0.1" }, { authorization: "Bearer x" }] as Record<string, string>[]) expect(await ask(headers)).toBe(401);
  });

  it("an address that others reach is refused without authenticators, and one in use is told", async () => {
    for (const host of ["0.0.0.0", "::", ""]) await expect(startIrisServer({ api: () => givenApi({}), host })).rejects.toMatchObject({ code: "IRIS_AUTH_REQUIRED" });
    const url = await serve();
    await expect(startIrisServer({ api: () => givenApi({}), port: Number(new URL(url).port) })).rejects.toMatchObject({ code: "IRIS_ADDRESS" });
  });
});

describe("what is served", () => {
  it("pages show hostile texts as text, without scripts, terminal codes or secrets", async () => {
    const secret = new Secret("page-test", "s3cr3t-value-of-the-page-test");
    const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)> \u001b[31m ${secret.reveal()} &amp;`;
    const jobs = [summary("/train"), summary("/train/child", { user: hostile, pendingReason: hostile, state: "PENDING" }), summary("/other", { tasks: { [hostile]: 1 } as never, state: hostile as never })];
    const url = await serve({ jobs, status: { ...status, pendingReason: hostile, user: hostile, tasks: [{ index: 0, state: hostile as never, attempt: 0, ports: {}, worker: hostile, progress: { done: 1, unit: hostile }, attempts: [] }] }, lines: [line(hostile, { fields: { [hostile]: hostile } })] });
    for (const path of ["/", `/?prefix=${encodeURIComponent("/")}&user=${encodeURIComponent(hostile)}`, `/job?job=u1&contains=${encodeURIComponent("<")}`]) {
      const response = await fetch(url + path);
      expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
      const text = await response.text();
      expect(response.status, text).toBe(200);
      expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
      expect(text).not.toMatch(/<script|<img/);
      expect(text).not.toContain("\u001b");
      const elements = elementsOf(parse(text));
      expect(elements.map(({ tagName }) => tagName)).not.toContain("script");
      expect(elements.map(({ tagName }) => tagName)).not.toContain("img");
      expect(elements.flatMap(({ attrs }) => attrs.map(({ name }) => name)).filter((name) => /^on|^style$/.test(name))).toEqual([]);
      expect(text).not.toContain(secret.reveal());
    }
    const missing = await fetch(`${url}/job?job=${encodeURIComponent(hostile)}`);
    expect(missing.status).toBe(404);
    expect(await missing.text()).not.toMatch(/<script|<img/);
    expect(await (await fetch(`${url}/api/logs?job=u1`)).text()).not.toContain(secret.reveal());
    expect(await (await fetch(`${url}/api/bug-report?job=u1`)).text()).not.toContain(secret.reveal());
  });

  it("the jobs' tree, a job's attempts, why it waits, its log by level, task and text", async () => {
    const calls: unknown[] = [];
    const url = await serve({ jobs: [summary("/b"), summary("/a/x/y"), summary("/a")], status, lines: [line("one"), line("two")], onCall: (name, request) => name === "logs" && calls.push(request) });
    const overview = await (await fetch(url)).text();
    expect([...overview.matchAll(/>(\/[^<]*)<\/a>/g)].map(([, id]) => id)).toEqual(["/b", "/a", "/y"]);
    expect(overview).toMatch(/w1<td>reachable<td>2 \/ 8<td>1GiB \/ 16GiB<td>0 \/ 8 h100/);
    const page = await (await fetch(`${url}/job?job=/train&tail=2&level=warn&task=0&contains=tw&x=`)).text();
    expect(page).toContain("IRIS_BAD_REQUEST");
    const right = await (await fetch(`${url}/job?job=/train&tail=2&level=warn&task=&contains=tw`)).text();
    expect(right).toMatch(/WORKER_FAILED.*node-lost.*w2/s);
    expect(right).toContain("two");
    expect(right).not.toContain("one");
    expect(calls).toEqual([{ job: "u1", tail: 2, minLevel: "warn" }]);
  });

  it("a log as JSON lines, which says when it is complete and when it broke off", async () => {
    const lines = [line("one"), line("two")];
    const read = async (answers: GivenAnswers, query = ""): Promise<unknown[]> => (await (await fetch(`${await serve({ status, lines, ...answers })}/api/logs?job=u1${query}`)).text()).trimEnd().split("\n").map((text): unknown => JSON.parse(text));
    expect(await read({})).toEqual([{ line: lines[0] }, { line: lines[1], next: 2 }, { end: true }]);
    expect(await read({}, "&contains=two")).toEqual([{ line: lines[1], next: 2 }, { end: true }]);
    expect(await read({ then: "fail" })).toMatchObject([{ line: lines[0] }, { line: lines[1] }, { error: { code: "IRIS_LOG_LOST" } }]);
  });

  it("a follower that goes away ends the reading behind it", async () => {
    let open = 0;
    const api = givenApi({ status, lines: [line("one")], then: "hang" });
    const url = await serve({}, {
      api: () => ({ ...api, async *logs(request, options) {
        open += 1;
        try {
          yield* api.logs(request, options);
        } finally {
          open -= 1;
        }
      } }),
    });
    const controller = new AbortController();
    const response = await fetch(`${url}/api/logs?job=u1&follow=1`, { signal: controller.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    expect(open).toBe(1);
    controller.abort();
    await expect.poll(() => open, { timeout: 20_000 }).toBe(0);
  });

  it("a body that comes in chunks, of which no more than a mebibyte is held", async () => {
    const url = await serve({ status });
    const send = async (parts: readonly string[]): Promise<number> =>
      (await fetch(`${url}/api/cancel`, { method: "POST", headers: { "Content-Type": "application/json" }, body: new Blob([...parts]).stream(), duplex: "half" } as RequestInit)).status;
    expect(await send(['{"job":', '"/train"}'])).toBe(200);
    expect(await send(['{"job":"', "x".repeat(1 << 20), '"}'])).toBe(413);
    expect(await send(["{"])).toBe(400);
  });

  it("Prometheus's page", async () => {
    const url = await serve({ jobs: [summary("/a"), summary("/b", { state: "PENDING", tasks: { PENDING: 3 } })] });
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const expected of ['iris_jobs{state="RUNNING"} 1', 'iris_tasks{state="PENDING"} 3', 'iris_workers{state="reachable"} 1', 'iris_worker_capacity_devices{worker="w1"} 8', 'iris_user_spend{user="ada"} 11']) expect(text).toContain(expected);
  });

  it("bundles go up and come down, each checked against its digest", async () => {
    await writeFile(join(directory, "a.txt"), "a");
    const bundle = await createBundle(directory);
    const url = await serve({}, { bundles: new BundleStore(openStorage(join(directory, "kept"))) });
    const at = `${url}/bundles/${bundle.digest}`;
    expect((await fetch(at)).status).toBe(404);
    for (const [path, data] of [[at, "nonsense"], [at.replace(/.$/, (last) => (last === "0" ? "1" : "0")), bundle.data], [`${url}/bundles/x`, bundle.data], [at, ""]] as const) expect((await fetch(path, { method: "PUT", body: data as never })).status).toBe(400);
    expect((await fetch(at, { method: "HEAD" })).status).toBe(404);
    for (let round = 0; round < 2; round += 1) expect((await fetch(at, { method: "PUT", body: bundle.data as never })).status).toBe(200);
    expect((await fetch(at, { method: "HEAD" })).status).toBe(200);
    expect(Buffer.from(await (await fetch(at)).arrayBuffer()).equals(bundle.data)).toBe(true);
  });

  it("archives of outputs come from workers, once, and are handed out", async () => {
    const url = await serve({}, { outputs: openStorage(join(directory, "outputs")), authenticators: [tokens({ worker: ["workers:join"], reader: ["jobs:read"] })] });
    const put = async (token: string, path: string): Promise<number> => (await fetch(`${url}/outputs/${path}`, { ...bearer(token), method: "PUT", body: "archive" })).status;
    expect(await put("reader", "a1.tar.gz")).toBe(403);
    for (const path of ["a1", "..%2fx.tar.gz", "%2e%2e%2fx.tar.gz", `${"a".repeat(65)}.tar.gz`]) expect(await put("worker", path)).toBeGreaterThanOrEqual(400);
    expect(await put("worker", "a1.tar.gz")).toBe(200);
    expect(await put("worker", "a1.tar.gz")).toBe(409);
    expect(await (await fetch(`${url}/outputs/a1.tar.gz`, bearer("reader"))).text()).toBe("archive");
    for (const path of ["a2.tar.gz", "..%2f..%2fx", "%00"]) expect((await fetch(`${url}/outputs/${path}`, bearer("reader"))).status).toBe(404);
  });

  it("calls over a WebSocket: streams and errors", async () => {
    const url = await serve({ status, lines: [line("one")] });
    const connection = new Connection(await connectWebSocket(`${url.replace("http", "ws")}/rpc`));
    const api = remoteIrisApi(connection);
    expect(await collect(api.logs({ job: "/train" }))).toMatchObject([{ lines: [{ message: "one" }] }]);
    await expect(api.status({ job: "/nothing" })).rejects.toMatchObject({ code: "IRIS_NO_JOB" });
    await servers[0]?.close();
    await connection.closed;
  });
});
