import { MarinError } from "@marin/iris";
import type { z } from "zod";

/**
 * Validates options and fills in their defaults. Throws `LEVANTER_CONFIG` naming each field that is unknown or out of range.
 *
 * @param what - names the options in the message: "the trainer's configuration"
 */
export function parseConfig<S extends z.ZodType>(what: string, schema: S, config: unknown): z.output<S> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.map(String).join(".") || "configuration"}: ${issue.message}`);
  throw new MarinError("LEVANTER_CONFIG", `${what} is not valid. ${problems.join("; ")}`, { data: { problems }, cause: parsed.error });
}
