import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Channel } from "@marin/ducky";
import { Secret } from "@marin/rigging";
import type { z } from "zod";
import { callController, httpBundles } from "../bundles/http-bundles.js";
import { remoteIrisApi } from "../client/iris-service.js";
import { resumingApi } from "../client/resuming-api.js";
import { MarinError, fileError } from "../platform.js";
import type { QueryResult } from "../server/query-worker.js";
import type { Target, TargetFlags } from "./context.js";
import { controllerFile, controllerFileSchema, databaseFile, directoryOf } from "./directory.js";
import type { CliEnvironment } from "./environment.js";
import type { Output } from "./output.js";
import { usageError } from "./usage.js";

/** How long the first answer of a controller may take. */
const connectMs = 10_000;

/**
 * The controller that the flags, or else the environment, name: a server, or a directory of this machine whose controller runs or is started.
 *
 * @param start - see {@link CommandContext.connect}
 * @throws MarinError IRIS_NO_CONTROLLER, DUCKY_UNAUTHORIZED, IRIS_USAGE
 */
export async function connectTarget(flags: TargetFlags, environment: CliEnvironment, output: Output, start: "no" | "read" | "run"): Promise<Target> {
  const { variables } = environment;
  if (flags.controller !== undefined && flags.dir !== undefined) throw usageError("name the controller by --controller or by --dir, not by both");
  const url = flags.controller ?? (flags.dir === undefined ? variables["IRIS_CONTROLLER"] : undefined);
  if (url !== undefined) return connectServer(checkUrl(url), await tokenOf(flags, environment));
  const directory = directoryOf(flags, environment);
  const running = await runningController(directory);
  if (running !== undefined) return connectServer(running.url, running.token);
  if (start === "no") {
    throw new MarinError("IRIS_NO_CONTROLLER", `No controller runs on ${directory}: start one with \`iris controller --dir ${directory}\`, or name a server with --controller; \`iris run\` brings its own.`, { data: { directory } });
  }
  // Looking must not make what is looked for.
  if (start === "read" && !existsSync(join(directory, databaseFile))) {
    throw new MarinError("IRIS_NO_CONTROLLER", `There is nothing to see in ${directory}: no controller has run on it. Name another directory with --dir, or a server with --controller.`, { data: { directory } });
  }
  if (start === "run") output.note(`no controller runs on ${directory}: this command brings one, for as long as it runs`);
  return (await import("./embedded.js")).startController({ directory, mode: start });
}

/** The token for a server: of a file, so that it stands on no command line, or of the environment. */
export async function tokenOf({ tokenFile }: TargetFlags, { variables, workingDirectory }: CliEnvironment): Promise<string | undefined> {
  const file = tokenFile ?? variables["IRIS_TOKEN_FILE"];
  const path = file === undefined ? undefined : resolve(workingDirectory, file);
  const text = path === undefined ? variables["IRIS_TOKEN"] : await readFile(path, "utf8").catch((error: unknown) => {
    throw fileError(error, { action: "read the token in", path });
  });
  const token = text?.trim();
  // From now on it is masked wherever it turns up.
  return token === undefined || token === "" ? undefined : new Secret("IRIS_TOKEN", token).reveal();
}

/** The URL of a server, without what follows the host. */
export function checkUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text).origin;
  throw usageError(`a controller is named by its server's URL, for example http://head:7733, got ${text}`);
}

async function runningController(directory: string): Promise<z.output<typeof controllerFileSchema> | undefined> {
  let found: z.output<typeof controllerFileSchema>;
  try {
    found = controllerFileSchema.parse(JSON.parse(await readFile(join(directory, controllerFile), "utf8")));
    // What a controller that was killed has left behind.
    process.kill(found.pid, 0);
    await callController({ url: found.url, token: new Secret("controller.json", found.token).reveal() }, "/style.css", { signal: AbortSignal.timeout(connectMs) });
  } catch {
    return undefined;
  }
  return found;
}

async function connectServer(url: string, token: string | undefined): Promise<Target> {
  const address = { url, token };
  // Who is not there at all is told at once; a connection that is lost later is made anew.
  await callController(address, "/health", { signal: AbortSignal.timeout(connectMs) });
  const channel = new Channel({ resolve: () => `${url.replace(/^http/, "ws")}/rpc`, ...(token === undefined ? {} : { token }) });
  try {
    await channel.connected({ timeoutMs: connectMs });
  } catch (error) {
    await channel.close();
    throw error;
  }
  return {
    api: resumingApi((signal) => channel.connected({ signal }), remoteIrisApi),
    name: url,
    embedded: false,
    putBundle: (bundle) => httpBundles(address).put(bundle),
    query: async (sql, maxRows, signal) => {
      const body = JSON.stringify({ sql, ...(maxRows === undefined ? {} : { maxRows }) });
      const response = await callController(address, "/api/query", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
      return (await response.json()) as QueryResult;
    },
    [Symbol.asyncDispose]: async () => {
      await channel.close();
    },
  };
}
