import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { staticToken } from "../auth/token-provider.js";
import { googleTokens } from "../auth/google-tokens.js";
import { Secret, SecretStore } from "../secrets.js";

// A server in the place of both Secret Manager and Google's metadata server.
const requests: { path: string; authorization: string | undefined; flavor: unknown }[] = [];
let answer: (request: IncomingMessage, response: ServerResponse, count: number) => void;
const server = createServer((request, response) => {
  requests.push({ path: request.url ?? "", authorization: request.headers.authorization, flavor: request.headers["metadata-flavor"] });
  if (request.url?.startsWith("/computeMetadata/") === true) {
    response.setHeader("metadata-flavor", "Google").setHeader("content-type", "application/json");
    response.end(request.url.includes("/token") ? JSON.stringify({ access_token: "metadata-token", expires_in: 3600, token_type: "Bearer" }) : JSON.stringify({}));
    return;
  }
  answer(request, response, requests.length);
});
let endpoint: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(() => new Promise((resolve) => {
  server.close(resolve);
  server.closeAllConnections();
}));
beforeEach(() => void (requests.length = 0));

const reference = "gcp-secret://projects/p/secrets/s/versions/3";

function store(env: Record<string, string> = {}): SecretStore {
  return new SecretStore({ env, gcp: { endpoint, tokens: staticToken(new Secret("access", "access-token-1")) } });
}

function value(text: string, dataCrc32c?: string): typeof answer {
  return (_request, response) => void response.end(JSON.stringify({ name: "n", payload: { data: Buffer.from(text).toString("base64"), ...(dataCrc32c === undefined ? {} : { dataCrc32c }) } }));
}

test("a pinned version is asked for once, with the account's token, and checked against its CRC-32C", async () => {
  // The check value of CRC-32C: the checksum of "123456789" is e3069283.
  answer = value("123456789", String(0xe3069283));
  const secrets = store();
  const [one, two] = await Promise.all([secrets.get(reference), secrets.get(reference)]);
  expect([one.reveal(), two.reveal(), (await secrets.get(reference)).reveal()]).toEqual(Array(3).fill("123456789"));
  expect(requests).toEqual([{ path: "/v1/projects/p/secrets/s/versions/3:access", authorization: "Bearer access-token-1", flavor: undefined }]);
  answer = value("123456780", String(0xe3069283));
  await expect(store().get(reference)).rejects.toMatchObject({ code: "RIGGING_SECRET_UNREADABLE", message: expect.stringContaining("checksum") as string });
});

test("a version that is not there leaves it to the next source; one that may not be read does not", async () => {
  const status = (code: number): typeof answer => (_request, response) => void response.writeHead(code).end("secret hunter2!");
  answer = status(404);
  expect((await store({ A: "from-env" }).get([reference, "env:A"])).reveal()).toBe("from-env");
  await expect(store().get(reference)).rejects.toMatchObject({ code: "RIGGING_SECRET_MISSING" });
  for (const code of [400, 401, 403, 418]) {
    answer = status(code);
    const failure: unknown = await store({ A: "from-env" }).get([reference, "env:A"]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "RIGGING_SECRET_UNREADABLE", data: { resource: "projects/p/secrets/s/versions/3" } });
    expect(JSON.stringify(failure)).not.toContain("hunter2!");
  }
  expect(requests).toHaveLength(6);
});

test("a server that is out of order or breaks off is asked again, and an answer without value is an error", async () => {
  answer = (request, response, count) => {
    if (count === 1) response.writeHead(503).end();
    else if (count === 2) request.socket.destroy();
    else value("after-all")(request, response, count);
  };
  expect((await store().get(reference)).reveal()).toBe("after-all");
  expect(requests).toHaveLength(3);
  answer = (_request, response) => void response.end("{}");
  await expect(store().get(reference)).rejects.toMatchObject({ code: "RIGGING_SECRET_UNREADABLE" });
});

test("without a token provider Google's library finds the machine's account", async () => {
  vi.stubEnv("GCE_METADATA_HOST", endpoint.replace("http://", ""));
  vi.stubEnv("METADATA_SERVER_DETECTION", "assume-present");
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", undefined);
  vi.stubEnv("CLOUDSDK_CONFIG", "/nonexistent");
  vi.stubEnv("GOOGLE_CLOUD_PROJECT", "p");
  answer = value("for-the-machine");
  expect((await new SecretStore({ gcp: { endpoint } }).get(reference)).reveal()).toBe("for-the-machine");
  expect(requests.at(-1)?.authorization).toBe("Bearer metadata-token");
  expect(requests[0]).toMatchObject({ flavor: "Google" });
  const tokens = googleTokens();
  expect((await tokens.token()).expiresAt).toBeGreaterThan(Date.now());
  vi.unstubAllEnvs();
});
