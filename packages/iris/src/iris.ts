import { Channel } from "@marin/ducky";
import { detachedClient, type IrisClient } from "./client/client.js";
import { remoteIrisApi } from "./client/iris-service.js";
import { resumingApi } from "./client/resuming-api.js";
import type { OpenControllerOptions } from "./controller/open.js";
import { MarinError } from "./platform.js";

/** Settings of {@link Iris.open}. */
export type IrisOpenOptions = Pick<OpenControllerOptions, "dir" | "worker" | "endedKept" | "limits" | "times">;

/** Settings of {@link Iris.connect}. */
export interface IrisConnectOptions {
  /** What the server asks for; a function is asked before each attempt to connect. Default: none, which is enough on loopback where the server says so. */
  readonly token?: string | (() => string | Promise<string>);
  /** Milliseconds that a call waits for a connection before it fails with DUCKY_UNAVAILABLE. Default 30,000. */
  readonly maxWaitMs?: number;
}

/** Ways to a controller whose jobs outlive this process. */
export const Iris = {
  /**
   * Opens the controller of a directory in this process: it keeps its jobs, their history and logs there, and runs them on a worker of this machine, a process
   * of its own. When the client is closed, or this process dies, what runs goes on; who opens the directory next takes it over.
   *
   * @param options - the directory, and what the worker gives to tasks
   * @throws MarinError RIGGING_LOCKED when another process has it open; IRIS_STORE_VERSION, IRIS_STORE_FAILED, IRIS_SEAL_BROKEN, IRIS_WORKER_START
   */
  async open(options: IrisOpenOptions): Promise<IrisClient> {
    const { openController } = await import("./controller/open.js");
    const controller = await openController(options);
    return detachedClient(controller.api({ kind: "client" }), () => controller.close());
  },

  /**
   * Connects to the server of a controller, `iris controller`. The client waits while the server is away, and goes on where it was: a submission is not
   * repeated, and followers miss and repeat nothing.
   *
   * @param url - the server's: "http://127.0.0.1:7070"
   * @param options - the token
   * @throws MarinError IRIS_BAD_URL; DUCKY_UNAUTHORIZED, DUCKY_UNAVAILABLE when the server cannot be reached
   */
  async connect(url: string, options: IrisConnectOptions = {}): Promise<IrisClient> {
    const address = socketUrl(url);
    const { token, maxWaitMs } = options;
    const channel = new Channel({ resolve: () => address, ...(token === undefined ? {} : { token }), ...(maxWaitMs === undefined ? {} : { maxWaitMs }) });
    try {
      await channel.connected();
    } catch (error) {
      await channel.close();
      throw error;
    }
    const api = resumingApi((signal) => channel.connected({ signal }), remoteIrisApi);
    return detachedClient(api, async () => channel.close());
  },
};

function socketUrl(url: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) {
    const { origin, pathname } = new URL(url);
    if (pathname === "/") return `${origin.replace(/^http/, "ws")}/rpc`;
  }
  throw new MarinError("IRIS_BAD_URL", `"${url}" names no server of a controller: give what \`iris controller\` prints, for example http://127.0.0.1:7070.`, { data: { url } });
}
