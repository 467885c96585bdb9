import { z } from "zod";

const attributeValueSchema = z.union([z.string(), z.number(), z.boolean()]);

/** A value of a worker's attribute. Strings are compared without regard to case. */
export type AttributeValue = z.output<typeof attributeValueSchema>;

const attribute = z.string().min(1).describe('name of the workers\' attribute, for example "region"; "worker", "device-kind" and "device-variant" are there by themselves');
const soft = z.boolean().optional().describe("true: prefer such workers instead of insisting on them. Default false");

/** What a job asks of the workers that run it. */
export const constraintSchema = z.discriminatedUnion("op", [
  z.strictObject({ attribute, op: z.enum(["EQ", "NE"]), value: attributeValueSchema, soft }),
  z.strictObject({ attribute, op: z.enum(["GT", "GE", "LT", "LE"]), value: z.number(), soft }),
  z.strictObject({ attribute, op: z.literal("IN"), values: z.array(attributeValueSchema).min(1), soft }),
  z.strictObject({ attribute, op: z.enum(["EXISTS", "NOT_EXISTS"]), soft }),
]);

/**
 * What a job asks of the workers that run it: EQ and NE compare with `value` (NE holds too where the attribute is missing), GT, GE, LT and LE compare numbers,
 * IN asks for one of `values`, EXISTS and NOT_EXISTS for the attribute itself. `soft: true` prefers such workers and insists on nothing.
 */
export type Constraint = z.output<typeof constraintSchema>;
