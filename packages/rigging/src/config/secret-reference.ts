import { isMarinError } from "@marin/ducky";
import { z } from "zod";
import { parseSecretReference, referenceForms } from "../secrets/reference.js";

/** Marks the fields that hold references, in the schema's metadata. */
export const secretReferenceMark = "marinSecretReference";

/**
 * A configuration field that says where a secret is: one reference, or several in the order of their preference, for `SecretStore.get`. A literal is
 * refused, and not repeated in the message.
 */
export function secretReference(): z.ZodType<string | string[]> {
  return z
    .union([z.string(), z.array(z.string()).min(1)])
    .superRefine((value, context) => {
      for (const reference of typeof value === "string" ? [value] : value) {
        try {
          parseSecretReference(reference);
        } catch (error) {
          context.addIssue({ code: "custom", message: isMarinError(error) ? error.message : `must be ${referenceForms}` });
        }
      }
    })
    .meta({ [secretReferenceMark]: true });
}
