import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evaluateLoss, generate, loadParameters, modelOfCheckpoint, RandomKey, TokenStore, TokenStoreWriter, type BufferGroup } from "@marin/levanter";
import { silentLogger } from "@marin/rigging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { proseOf, tinyModel, tinyTokenizer } from "../../test/tiny-model.js";
import { startServer, type InferenceServer, type ServerOptions } from "./server.js";
import { withServedModel, type ModelLocation, type ServedModel } from "./served-model.js";

let root: string;
let location: ModelLocation;
let served: ServedModel;
let server: InferenceServer;
let release: () => void;
let loaded: Promise<void>;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-serve-"));
  location = await tinyModel(root);
  const released = new Promise<void>((resolve) => (release = resolve));
  served = await new Promise<ServedModel>((resolve, reject) => {
    loaded = withServedModel(location, { engine: "onnx", threads: 1 }, () => undefined, async (model) => {
      resolve(model);
      await released;
    });
    loaded.catch(reject);
  });
  server = await start();
});
afterAll(async () => {
  await server.stop(0);
  release();
  await loaded;
  await rm(root, { recursive: true });
});

function start(options: Partial<ServerOptions> = {}): Promise<InferenceServer> {
  return startServer({ served, name: "tiny", log: silentLogger, ...options });
}

function post(body: unknown, { url = server.url, path = "/v1/completions", ...init }: RequestInit & { url?: string; path?: string } = {}): Promise<Response> {
  return fetch(url + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: typeof body === "string" ? body : JSON.stringify(body), ...init });
}

interface Completion {
  readonly seed: number;
  readonly choices: readonly { readonly text: string; readonly finish_reason: string | null }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

async function completion(body: object): Promise<Completion> {
  const response = await post(body);
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

/** The data of each server-sent event, as it comes. */
async function* eventsOf(response: Response): AsyncGenerator<string> {
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) yield event.replace(/^data: /, "");
  }
  expect(text).toBe("");
}

async function streamed(body: object): Promise<{ pieces: string[]; finish: string | null; rest: string[] }> {
  const pieces: string[] = [];
  const rest: string[] = [];
  let finish: string | null = null;
  for await (const event of eventsOf(await post({ ...body, stream: true }))) {
    const choice = event === "[DONE]" ? undefined : (JSON.parse(event) as Completion).choices[0];
    if (choice === undefined) rest.push(event);
    else if (choice.finish_reason === null) pieces.push(choice.text);
    else finish = choice.finish_reason;
  }
  return { pieces, finish, rest };
}

const health = async (url = server.url): Promise<unknown> => (await fetch(`${url}/health`)).json();

/** Resolves when the server says so; each look is a request of its own. */
async function until(state: object, url = server.url): Promise<void> {
  for (let last = await health(url); !expectEqual(last, state); last = await health(url));
}

function expectEqual(found: unknown, wanted: object): boolean {
  return Object.entries(wanted).every(([key, value]) => (found as Record<string, unknown>)[key] === value);
}

const REQUEST = { prompt: "the sailor saw", max_tokens: 30, temperature: 0.9, top_k: 40, top_p: 0.95, seed: 7 };

describe("completions", () => {
  it("are what levanter's generate draws, whole or streamed", async () => {
    const { engine, model, tokenizer } = served;
    const parameters = await withParameters();
    const drawn = await generate({
      engine, model, parameters: parameters.buffers, prompt: [tokenizer.endOfTextId, ...tokenizer.encode(REQUEST.prompt)], maxTokens: 30, temperature: 0.9, topK: 40, topP: 0.95,
      key: RandomKey.fromSeed(7).fold("sample"), stopToken: tokenizer.endOfTextId,
    });
    parameters.release();
    const whole = await completion(REQUEST);
    expect(whole.choices[0]?.text).toBe(tokenizer.decode(drawn));
    expect(whole).toMatchObject({ object: "text_completion", model: "tiny", seed: 7, usage: { completion_tokens: drawn.length, prompt_tokens: 1 + tokenizer.encode(REQUEST.prompt).length } });
    const pieces = await streamed({ ...REQUEST, stream_options: { include_usage: true } });
    expect(pieces.pieces.length).toBeGreaterThan(10);
    expect(pieces.pieces.join("")).toBe(whole.choices[0]?.text);
    expect(pieces.finish).toBe(whole.choices[0]?.finish_reason);
    expect(pieces.rest.at(-1)).toBe("[DONE]");
    expect((JSON.parse(pieces.rest[0] ?? "") as Completion).usage).toEqual(whole.usage);
  });

  it("are the same whatever else runs, and differ with the seed", async () => {
    const alone = await completion(REQUEST);
    const together = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => (i % 2 === 0 ? completion(REQUEST) : completion({ ...REQUEST, prompt: `a gull ${String(i)}`, seed: i }))));
    for (const [i, other] of together.entries()) {
      if (i % 2 === 0) expect(other.choices).toEqual(alone.choices);
      else expect(other.choices).not.toEqual(alone.choices);
    }
  });

  it("get a seed where none is given, and can be had again with it", async () => {
    const first = await completion({ prompt: "a whale", max_tokens: 20 });
    const other = await completion({ prompt: "a whale", max_tokens: 20 });
    expect(other.seed).not.toBe(first.seed);
    expect((await completion({ prompt: "a whale", max_tokens: 20, seed: first.seed })).choices).toEqual(first.choices);
  });

  it("end before a stop text, whole or streamed", async () => {
    const text = (await completion(REQUEST)).choices[0]?.text ?? "";
    const stop = text.slice(10, 13);
    const cut = await completion({ ...REQUEST, stop });
    expect(cut.choices[0]).toMatchObject({ text: text.slice(0, text.indexOf(stop)), finish_reason: "stop" });
    expect((await completion({ ...REQUEST, stop: ["not there", stop] })).choices).toEqual(cut.choices);
    expect((await streamed({ ...REQUEST, stop })).pieces.join("")).toBe(cut.choices[0]?.text);
    expect((await streamed({ ...REQUEST, stop: ["never"] })).pieces.join("")).toBe(text);
  });

  it("go on past the model's longest sequence, of which a prompt may fill all", async () => {
    // No merge was learned for this byte: each is a token.
    const { choices, usage } = await completion({ prompt: "\u0001".repeat(63), max_tokens: 80, seed: 1 });
    expect(usage?.prompt_tokens).toBe(64);
    expect(choices[0]?.finish_reason === "stop" || usage?.completion_tokens === 80).toBe(true);
  });

  it("of characters of several tokens come whole", async () => {
    const pieces = await streamed({ prompt: "naïve gulls", max_tokens: 60, seed: 3, temperature: 2 });
    const whole = await completion({ prompt: "naïve gulls", max_tokens: 60, seed: 3, temperature: 2 });
    expect(pieces.pieces.join("")).toBe(whole.choices[0]?.text);
  });
});

function withParameters(): Promise<BufferGroup> {
  return modelOfCheckpoint(location.checkpoint).then(({ model, checkpoint }) => loadParameters(served.engine, model, checkpoint));
}

describe("a server", () => {
  it("tells its model and how busy it is", async () => {
    expect(await health()).toEqual({ status: "ok", model: "tiny", active: 0, waiting: 0 });
    expect(await (await fetch(`${server.url}/v1/models`)).json()).toMatchObject({ data: [{ id: "tiny", context_length: 64 }] });
  });

  it.each<[string, string | object, RequestInit & { path?: string }, number, object]>([
    ["a body that is not JSON", "{prompt}", {}, 400, { code: "invalid_json" }],
    ["a body that is no object", "[]", {}, 400, { code: "invalid_value" }],
    ["a wrong type", { max_tokens: "ten" }, {}, 400, { code: "invalid_value", param: "max_tokens" }],
    ["a fraction of a token", { max_tokens: 1.5 }, {}, 400, { code: "invalid_value", param: "max_tokens" }],
    ["no token", { max_tokens: 0 }, {}, 400, { code: "invalid_value", param: "max_tokens" }],
    ["too many tokens", { max_tokens: 100_000 }, {}, 400, { code: "invalid_value", param: "max_tokens" }],
    ["a negative temperature", { temperature: -1 }, {}, 400, { param: "temperature" }],
    ["a top_p of 0", { top_p: 0 }, {}, 400, { param: "top_p" }],
    ["an empty stop text", { stop: "" }, {}, 400, { param: "stop" }],
    ["a list of prompts", { prompt: ["one", "two"] }, {}, 400, { param: "prompt" }],
    ["two completions", { n: 2 }, {}, 400, { param: "n" }],
    ["an unknown field", { max_token: 5 }, {}, 400, { code: "unknown_field", param: "max_token" }],
    ["an unknown field inside", { stream_options: { usage: true } }, {}, 400, { code: "unknown_field", param: "stream_options.usage" }],
    ["a prompt longer than the model sees", { prompt: "the sailor saw nothing. ".repeat(30) }, {}, 400, { code: "context_length_exceeded", param: "prompt" }],
    ["another model", { model: "gpt-4" }, {}, 404, { code: "model_not_found", param: "model" }],
    ["another kind of body", "prompt=hello", { headers: { "Content-Type": "application/x-www-form-urlencoded" } }, 415, { code: "unsupported_media_type" }],
    ["a wrong path", {}, { path: "/v1/chat/completions" }, 404, { code: "not_found" }],
    ["no texts to score", { texts: [] }, { path: "/v1/score" }, 400, { param: "texts" }],
  ])("refuses %s", async (_what, body, init, status, error) => {
    const response = await post(body, init);
    expect(response.status).toBe(status);
    const answer = (await response.json()) as { error: { message: string } };
    expect(answer).toEqual({ error: expect.objectContaining(error) as unknown });
    expect(answer.error.message.length).toBeGreaterThan(10);
    expect(await health()).toMatchObject({ active: 0, waiting: 0 });
  });

  it("refuses bodies that are too large", async () => {
    const narrow = await start({ maxBodyBytes: 2000 });
    for (const [path, body] of [["/v1/completions", { prompt: "x".repeat(2000) }], ["/v1/score", { texts: ["x".repeat(2000)] }]] as const) {
      const response = await post(body, { url: narrow.url, path });
      // Without a length the body has to be counted as it comes.
      let left = 5;
      const stream = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (left === 0) controller.close();
          else controller.enqueue(new TextEncoder().encode(" ".repeat(1000)));
          left -= 1;
        },
      });
      const chunked = await fetch(`${narrow.url}${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: stream, duplex: "half" } as RequestInit);
      for (const each of [response, chunked]) expect([each.status, await each.json()]).toEqual([413, { error: expect.objectContaining({ code: "request_too_large" }) as unknown }]);
    }
    await narrow.stop(0);
  });

  it("refuses wrong methods, saying which one is right", async () => {
    const response = await fetch(`${server.url}/v1/completions`);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await fetch(`${server.url}/health`, { method: "DELETE" })).headers.get("allow")).toBe("GET");
  });

  it("answers to this machine's own names only, unless there is a token", async () => {
    const { port } = new URL(server.url);
    const ask = async (host: string): Promise<string> => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.end(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      let answer = "";
      for await (const chunk of socket) answer += String(chunk);
      return answer.split("\r\n")[0] ?? "";
    };
    expect(await ask("evil.example:80")).toMatch(/ 403 /);
    expect(await ask(`localhost:${port}`)).toMatch(/ 200 /);
    await expect(start({ host: "0.0.0.0" })).rejects.toMatchObject({ code: "MARIN_INFERENCE_TOKEN_NEEDED" });
    const guarded = await start({ host: "0.0.0.0", token: "open sesame" });
    const url = guarded.url.replace("0.0.0.0", "127.0.0.1");
    const statuses = await Promise.all(
      [undefined, "Bearer nothing", "open sesame", "Bearer open sesame"].map(async (token) => (await fetch(`${url}/health`, { headers: token === undefined ? {} : { Authorization: token } })).status),
    );
    expect(statuses).toEqual([401, 401, 401, 200]);
    await guarded.stop(0);
  });

  it("says that an address is taken", async () => {
    await expect(start({ port: Number(new URL(server.url).port) })).rejects.toMatchObject({ code: "MARIN_INFERENCE_ADDRESS" });
  });

  it("gives the place of a client that goes away to the next at once, and goes on answering", async () => {
    const small = await start({ concurrency: 1, queueSize: 1 });
    const controller = new AbortController();
    const endless = { prompt: "the", max_tokens: 2048, temperature: 1, seed: 5, stream: true };
    const response = await post(endless, { url: small.url, signal: controller.signal });
    const events = eventsOf(response);
    await events.next();
    expect(await health(small.url)).toMatchObject({ active: 1, waiting: 0 });
    const waiting = post(REQUEST, { url: small.url });
    await until({ waiting: 1 }, small.url);
    const refused = await post(REQUEST, { url: small.url });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    // A client that leaves while it waits makes room in the queue, too.
    controller.abort();
    expect((await waiting).status).toBe(200);
    await until({ active: 0, waiting: 0 }, small.url);
    expect((await (await post(REQUEST, { url: small.url })).json() as Completion).choices).toEqual((await completion(REQUEST)).choices);
    await small.stop(0);
  });

  it("forgets a client that leaves while it waits", async () => {
    const small = await start({ concurrency: 1, queueSize: 1 });
    const first = new AbortController();
    const running = eventsOf(await post({ prompt: "the", max_tokens: 2048, stream: true, seed: 5 }, { url: small.url, signal: first.signal }));
    await running.next();
    const second = new AbortController();
    const waiting = post(REQUEST, { url: small.url, signal: second.signal });
    await until({ waiting: 1 }, small.url);
    second.abort();
    await expect(waiting).rejects.toThrow();
    await until({ active: 1, waiting: 0 }, small.url);
    first.abort();
    await small.stop(0);
  });

  it("serves streams in turns", async () => {
    const order: string[] = [];
    const follow = async (name: string, seed: number): Promise<void> => {
      for await (const event of eventsOf(await post({ prompt: "the sailor", max_tokens: 40, temperature: 0, stop: ["never"], seed, stream: true }))) if (event !== "[DONE]") order.push(name);
    };
    await Promise.all([follow("a", 1), follow("b", 2)]);
    expect(order.lastIndexOf("a")).toBeGreaterThan(order.indexOf("b"));
    expect(order.lastIndexOf("b")).toBeGreaterThan(order.indexOf("a"));
  });

  it("stops cleanly: lets requests finish within the grace, then ends them with an error", async () => {
    const patient = await start({ concurrency: 1 });
    const running = post({ ...REQUEST, max_tokens: 60 }, { url: patient.url });
    await until({ active: 1 }, patient.url);
    const stopped = patient.stop(60_000);
    expect((await running).status).toBe(200);
    await stopped;
    await expect(fetch(`${patient.url}/health`)).rejects.toThrow();

    const impatient = await start({ concurrency: 1 });
    const stream = eventsOf(await post({ prompt: "the", max_tokens: 2048, seed: 5, stream: true }, { url: impatient.url }));
    await stream.next();
    const waiting = post(REQUEST, { url: impatient.url });
    await until({ waiting: 1 }, impatient.url);
    await impatient.stop(0);
    expect((await waiting).status).toBe(503);
    let last = "";
    for await (const event of stream) last = event;
    expect(JSON.parse(last)).toMatchObject({ error: { code: "stopping" } });
  });

  it("isn't held up by connections that say nothing", async () => {
    const other = await start();
    const socket = connect(Number(new URL(other.url).port), "127.0.0.1");
    await once(socket, "connect");
    await other.stop(0);
    socket.destroy();
  });
});

it("scores are those of evaluateLoss on each document alone", async () => {
  const { engine, model, tokenizer } = served;
  const texts = [proseOf(50, 20), "A whale.", ""];
  const response = await post({ texts }, { path: "/v1/score" });
  const { data } = (await response.json()) as { data: { index: number; tokens: number; bytes: number; nats: number; bits_per_byte: number | null }[] };
  const parameters = await withParameters();
  for (const [i, text] of texts.slice(0, 2).entries()) {
    const directory = join(root, `score-${String(i)}`);
    const writer = await TokenStoreWriter.create(directory, { vocabSize: tokenizer.vocabSize });
    await writer.append(Uint32Array.from([...tokenizer.encode(text), tokenizer.endOfTextId]), Buffer.byteLength(text));
    await writer.finish();
    const expected = await evaluateLoss({ engine, model, parameters: parameters.buffers, store: await TokenStore.open(directory) });
    expect(data[i]).toMatchObject({ index: i, tokens: expected.tokens, bytes: expected.bytes });
    expect(data[i]?.nats).toBeCloseTo(expected.lossSum, 3);
    expect(data[i]?.bits_per_byte).toBeCloseTo(expected.bitsPerByte, 5);
  }
  expect(data[2]).toMatchObject({ tokens: 1, bytes: 0, bits_per_byte: null });
  parameters.release();
});

it("a tokenizer that can't be read, or that has tokens which the model doesn't know, is refused", async () => {
  const load = (tokenizer: string): Promise<void> => withServedModel({ ...location, tokenizer }, { engine: "onnx", threads: 1 }, () => undefined, () => Promise.resolve());
  await expect(load(join(root, "nothing.json"))).rejects.toMatchObject({ code: "MARIN_TOKENIZER_UNREADABLE" });
  const larger = await tinyTokenizer(join(root, "larger"), 310);
  await expect(load(larger)).rejects.toMatchObject({ code: "MARIN_INFERENCE_TOKENIZER", message: expect.stringContaining("has 310 tokens, the model in") as string });
});
