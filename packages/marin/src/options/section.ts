import { z } from "zod";

/** The strict object inside a section, whatever wraps it; undefined when `schema` is not a section. */
export function sectionOf(schema: z.ZodType): z.ZodObject | undefined {
  let current: unknown = schema;
  for (;;) {
    if (current instanceof z.ZodObject) return current;
    if (current instanceof z.ZodPipe) current = current.out;
    else if (current instanceof z.ZodDefault || current instanceof z.ZodPrefault || current instanceof z.ZodReadonly) current = current.unwrap();
    else return undefined;
  }
}
