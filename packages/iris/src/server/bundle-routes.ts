import type { Context, Env, Hono } from "hono";
import type { BundleStore } from "../bundles/bundle-store.js";
import { maxArchiveBytes } from "../bundles/bundle-store.js";
import { MarinError, type Storage, isMarinError } from "../platform.js";
import { Slots } from "./slots.js";

/** Where bundles and outputs are. */
export interface BundleRoutes {
  /** Undefined: this controller keeps none. */
  readonly bundles?: BundleStore | undefined;
  /** Archives of outputs, by their paths. Undefined: this controller keeps none. */
  readonly outputs?: Storage | undefined;
}

/** Bytes of an archive of outputs at most: those of the files, and their headers. */
const maxOutputBytes = 2 * 2 ** 30 + 64 * 2 ** 20;

/** Adds GET, HEAD and PUT of `/bundles/<digest>`, and GET and PUT of `/outputs/<attempt>.tar.gz`. */
export function addBundleRoutes<E extends Env>(app: Hono<E>, { bundles, outputs }: BundleRoutes): void {
  const uploads = new Slots(4, "uploads");
  const store = (): BundleStore => {
    if (bundles === undefined) throw new MarinError("IRIS_NO_BUNDLE", "This controller keeps no bundles.");
    return bundles;
  };
  app.get("/bundles/:digest", async (c) => {
    const digest = c.req.param("digest") ?? "";
    if (!(await store().has(digest))) throw new MarinError("IRIS_NO_BUNDLE", `There is no bundle ${digest.slice(0, 100)}.`);
    if (c.req.method === "HEAD") return c.body(null);
    return download(c, store().read(digest, { signal: c.req.raw.signal }));
  });
  app.put("/bundles/:digest", async (c) => {
    const digest = c.req.param("digest") ?? "";
    const length = Number(c.req.header("Content-Length") ?? 0);
    if (length > maxArchiveBytes) throw new MarinError("IRIS_BAD_BUNDLE", "The bundle is larger than any bundle may be.", { data: { status: 413 } });
    const release = uploads.take();
    try {
      // A bundle that is kept already need not arrive.
      if (!(await store().has(digest))) await store().write(digest, (c.req.raw.body ?? new ReadableStream()) as unknown as AsyncIterable<Uint8Array>, c.req.raw.signal);
      return c.json({ digest });
    } finally {
      release();
    }
  });
  app.put("/outputs/:path", async (c) => {
    const path = c.req.param("path") ?? "";
    if (outputs === undefined || !/^[A-Za-z0-9_-]{1,64}\.tar\.gz$/.test(path)) throw new MarinError("IRIS_BAD_REQUEST", "Outputs are kept as <attempt>.tar.gz.");
    const release = uploads.take();
    try {
      await outputs.write(path, limited(c.req.raw.body), { ifAbsent: true, signal: c.req.raw.signal });
      return c.json({ path });
    } finally {
      release();
    }
  });
  app.get("/outputs/:path", async (c) => {
    const path = c.req.param("path") ?? "";
    if (outputs === undefined || (await statOf(outputs, path)) === undefined) throw new MarinError("IRIS_NO_OUTPUTS", `There are no outputs ${path.slice(0, 200)}.`);
    return download(c, outputs.stream(path, { signal: c.req.raw.signal }));
  });
}

async function* limited(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    if ((bytes += chunk.length) > maxOutputBytes) throw new MarinError("IRIS_OUTPUTS_TOO_LARGE", "The outputs are larger than any may be.", { data: { status: 413 } });
    yield chunk;
  }
}

async function statOf(storage: Storage, path: string): Promise<unknown> {
  return storage.stat(path).catch((error: unknown) => {
    if (isMarinError(error, "RIGGING_BAD_PATH")) return undefined;
    throw error;
  });
}

function download(c: Context, bytes: AsyncIterable<Uint8Array>): Response {
  const iterator = bytes[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await iterator.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return c.body(body, 200, { "Content-Type": "application/gzip" });
}
