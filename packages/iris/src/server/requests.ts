import { logLevels } from "@marin/rigging";
import { z } from "zod";
import type { JobState } from "../jobs/job-status.js";
import { MarinError } from "../platform.js";

const reference = z.string().min(1).max(4096);
const whole = (least: number, most: number): z.ZodType<number> => z.string().regex(/^\d{1,9}$/, "a whole number").transform(Number).pipe(z.number().min(least).max(most));
const flag = z.enum(["0", "1"]).transform((text) => text === "1");
const states = z.string().max(200).transform((text) => text.split(",").filter((state) => state !== "")).pipe(z.array(z.custom<JobState>((state) => typeof state === "string" && /^[A-Z_]+$/.test(state), "a state, for example RUNNING")));
// A form sends its empty fields too.
const optional = <T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined> => z.union([z.literal("").transform(() => undefined), schema]).optional() as unknown as z.ZodType<z.output<T> | undefined>;

/** Which jobs. */
export const listQuery = z.strictObject({ user: optional(z.string().max(256)), state: optional(states), prefix: optional(reference), limit: optional(whole(1, 10_000)) });

/** Which job. */
export const jobQuery = z.strictObject({ job: reference });

/** Which lines of a job's log. */
export const logQuery = z.strictObject({
  job: reference,
  tail: optional(whole(0, 100_000)),
  level: optional(z.enum(logLevels)),
  task: optional(whole(0, 1_000_000)),
  from: optional(whole(0, 999_999_999)),
  contains: optional(z.string().max(1_000)),
  follow: optional(flag),
});

/** The body of POST /api/cancel. */
export const cancelBody = z.strictObject({ job: reference, reason: z.string().max(10_000).optional() });

/** The body of POST /api/query. */
export const queryBody = z.strictObject({ sql: z.string().min(1).max(100_000), maxRows: z.number().int().min(1).max(10_000).optional() });

/**
 * Checks what a request asks for.
 *
 * @param schema - what is right
 * @param value - the query's parameters, or the body
 * @throws MarinError IRIS_BAD_REQUEST, which names the field
 */
export function parseRequest<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.slice(0, 5).map(({ path, message }) => `${path.length === 0 ? "the request" : path.map(String).join(".").slice(0, 100)}: ${message.slice(0, 300)}`);
  throw new MarinError("IRIS_BAD_REQUEST", `The request is not right: ${problems.join("; ")}.`);
}

/** Bytes of a request's body, bundles aside. */
const maxBodyBytes = 1 << 20;

/**
 * A request's body as JSON. No more of it is held than it may have.
 *
 * @throws MarinError IRIS_BAD_REQUEST
 */
export async function readJson({ body }: Request): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    if ((bytes += chunk.length) > maxBodyBytes) throw new MarinError("IRIS_BAD_REQUEST", `The request's body has more than ${String(maxBodyBytes)} bytes.`, { data: { status: 413 } });
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new MarinError("IRIS_BAD_REQUEST", "The request's body is not JSON.");
  }
}
