import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../log.js";
import { Secret } from "../secrets.js";
import { ManualClock } from "../time/clock.js";
import { type RefreshingTokenOptions, refreshingToken } from "./refreshing-token.js";
import { staticToken, tokenHeaders } from "./token-provider.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-cached-"));
});
afterAll(() => rm(directory, { recursive: true }));

const hour = 3_600_000;

/** A source of tokens named after their number, each good for an hour; it fails while told to. */
function source(clock: ManualClock): { fetches: number; failing: boolean; readonly options: RefreshingTokenOptions } {
  const state = {
    fetches: 0,
    failing: false,
    options: {
      name: "cluster token",
      clock,
      fetch: async () => {
        const number = ++state.fetches;
        await new Promise((resolve) => setImmediate(resolve));
        if (state.failing) throw new Error("the server is down");
        return { value: `token-number-${String(number)}`, expiresAt: clock.now() + hour };
      },
    },
  };
  return state;
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("one renewal runs at a time, whoever asks", async () => {
  const clock = new ManualClock();
  const from = source(clock);
  const provider = refreshingToken(from.options);
  const values = await Promise.all(Array.from({ length: 20 }, async () => (await provider.token()).secret.reveal()));
  expect(new Set(values)).toEqual(new Set(["token-number-1"]));
  await clock.advance(hour - 300_001);
  await provider.token();
  expect(from.fetches).toBe(1);
});

test("within the margin the old token is served at once while one renewal runs; a renewal that fails is tried again after 30 s", async () => {
  const clock = new ManualClock();
  const from = source(clock);
  const provider = refreshingToken(from.options);
  await provider.token();
  from.failing = true;
  await clock.advance(hour - 300_000);
  for (let call = 0; call < 5; call++) expect((await provider.token()).secret.reveal()).toBe("token-number-1");
  await settled();
  await provider.token();
  expect(from.fetches).toBe(2);
  await clock.advance(29_999);
  await provider.token();
  expect(from.fetches).toBe(2);
  from.failing = false;
  await clock.advance(1);
  expect((await provider.token()).secret.reveal()).toBe("token-number-1");
  await settled();
  expect((await provider.token()).secret.reveal()).toBe("token-number-3");
});

test("when the old token ends and no new one comes it is an error, until one comes", async () => {
  const clock = new ManualClock();
  const from = source(clock);
  const provider = refreshingToken(from.options);
  await provider.token();
  from.failing = true;
  await clock.advance(hour);
  await expect(provider.token()).rejects.toMatchObject({ code: "RIGGING_TOKEN_UNAVAILABLE", data: { token: "cluster token" }, message: expect.stringContaining("the server is down") as string });
  from.failing = false;
  expect((await provider.token()).secret.reveal()).toBe("token-number-3");
});

test("an aborted wait ends alone: the renewal goes on for the others", async () => {
  const from = source(new ManualClock());
  const provider = refreshingToken(from.options);
  const controller = new AbortController();
  const [one, two] = [provider.token({ signal: controller.signal }), provider.token()];
  const reason = new Error("stop");
  controller.abort(reason);
  await expect(one).rejects.toBe(reason);
  expect((await two).secret.reveal()).toBe("token-number-1");
  expect(from.fetches).toBe(1);
});

test("the cache file is for its owner alone, whole at any time, and serves the next process", async () => {
  const clock = new ManualClock();
  const from = source(clock);
  const cacheFile = join(directory, "token.json");
  expect((await refreshingToken({ ...from.options, cacheFile }).token()).secret.reveal()).toBe("token-number-1");
  expect((await stat(cacheFile)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(cacheFile, "utf8"))).toEqual({ value: "token-number-1", expiresAt: hour });
  expect((await refreshingToken({ ...from.options, cacheFile }).token()).secret.reveal()).toBe("token-number-1");
  expect(from.fetches).toBe(1);
  await clock.advance(hour);
  expect((await refreshingToken({ ...from.options, cacheFile }).token()).secret.reveal()).toBe("token-number-2");
  expect(await readdir(directory)).toEqual(["token.json"]);
});

test("a cache file that others may read, or that is damaged, is not used, is told of without its content, and is replaced", async () => {
  const clock = new ManualClock();
  const from = source(clock);
  const cacheFile = join(directory, "other.json");
  for (const [content, mode] of [['{"value":"stolen-token-x","expiresAt":9e15}', 0o644], ['{"value":"half-token-x', 0o600], ["null", 0o600], ['{"value":7}', 0o600]] as const) {
    await writeFile(cacheFile, content);
    await chmod(cacheFile, mode);
    let text = "";
    const log = createLogger({ write: (line) => void (text += line) });
    expect((await refreshingToken({ ...from.options, cacheFile, log }).token()).secret.reveal()).toBe(`token-number-${String(from.fetches)}`);
    expect(text).toContain("RIGGING_BAD_CACHE");
    expect(text).not.toContain("-token-x");
    expect((await stat(cacheFile)).mode & 0o777).toBe(0o600);
  }
});

test("headers carry the token, and printing a token does not show it", async () => {
  const provider = staticToken(new Secret("key", "static-token-1"));
  expect(await tokenHeaders(provider)).toEqual({ authorization: "Bearer static-token-1" });
  expect(await tokenHeaders(provider, { header: "x-api-key", scheme: "" })).toEqual({ "x-api-key": "static-token-1" });
  expect(JSON.stringify(await provider.token())).toBe('{"secret":"[secret key]"}');
});
