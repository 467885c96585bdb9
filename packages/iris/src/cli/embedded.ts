import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Authenticator, type Logger, type Principal, apiKeys, loopbackTrust, openApiKeys } from "@marin/rigging";
import { BundleStore } from "../bundles/bundle-store.js";
import { machineCapacity } from "../cluster-file.js";
import { openController } from "../controller/open.js";
import type { Resources } from "../jobs/job-spec.js";
import { openStorage, silentLogger, writeFileAtomic } from "../platform.js";
import { processToken } from "../server/process-token.js";
import { Queries } from "../server/query.js";
import { type IrisServer, startIrisServer } from "../server/server.js";
import type { Target } from "./context.js";
import { controllerFile, keysDirectory } from "./directory.js";

/** How to start a controller in this process. */
export interface EmbeddedOptions {
  readonly directory: string;
  /** "run": with a worker and a server. "read": to be looked at only, nothing is started or given up. */
  readonly mode: "run" | "read";
  /** What the worker of this machine gives to tasks; "none": there is no such worker. Default: all of it. */
  readonly capacity?: Resources | "none";
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any that is free. */
  readonly port?: number;
  /** Whether those on this machine are let in without a key. Default true. */
  readonly trustLoopback?: boolean;
  readonly log?: Logger;
}

/** A controller in this process. */
export interface Embedded extends Target {
  /** Where its server is; undefined when it is only looked at. */
  readonly url: string | undefined;
}

/**
 * Opens the controller of a directory in this process. When it is closed, jobs go on: its worker is a process of its own.
 *
 * @throws MarinError RIGGING_LOCKED when another process runs it; IRIS_AUTH_REQUIRED, IRIS_ADDRESS of its server
 */
export async function startController({ directory, mode, capacity = machineCapacity(), host, port, trustLoopback = true, log = silentLogger }: EmbeddedOptions): Promise<Embedded> {
  const bundles = join(directory, "bundles");
  const outputs = join(directory, "outputs");
  const controller = await openController({ dir: directory, worker: capacity === "none" ? "none" : { capacity }, readOnly: mode === "read", bundles, outputs });
  const store = new BundleStore(openStorage(bundles));
  const queries = new Queries(controller.databasePath);
  let server: IrisServer | undefined;
  const close = async (): Promise<void> => {
    if (server !== undefined) await rm(join(directory, controllerFile), { force: true });
    await server?.close();
    await queries.close();
    await controller.close();
  };
  try {
    if (mode === "run") {
      const keys = await openApiKeys(join(directory, keysDirectory));
      const { token, authenticator } = processToken();
      const authenticators: Authenticator[] = [authenticator, apiKeys(keys), ...(trustLoopback ? [loopbackTrust()] : [])];
      server = await startIrisServer({
        api: (principal) => controller.api(callerOf(principal)),
        onWorker: (connection) => controller.addWorker(connection),
        database: controller.databasePath,
        bundles: store,
        outputs: openStorage(outputs),
        authenticators,
        log,
        ...(host === undefined ? {} : { host }),
        ...(port === undefined ? {} : { port }),
      });
      await writeFileAtomic(join(directory, controllerFile), JSON.stringify({ url: server.url, token: token.reveal(), pid: process.pid }), { mode: 0o600 });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    api: controller.api({ kind: "client" }),
    name: directory,
    url: server?.url,
    embedded: true,
    putBundle: (bundle) => store.put(bundle),
    query: (sql, maxRows, signal) => queries.run(sql, { maxRows, signal }),
    [Symbol.asyncDispose]: close,
  };
}

/** Those who may do everything act for the controller's own user, others for themselves. */
function callerOf({ name, scopes }: Principal): { readonly kind: "client"; readonly user?: string } {
  return scopes.includes("*") ? { kind: "client" } : { kind: "client", user: name };
}
