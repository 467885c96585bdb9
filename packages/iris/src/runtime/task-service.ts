import { defineService, unary } from "@marin/ducky";
import { z } from "zod";
import { logLevels } from "@marin/rigging";
import type { WireFailure } from "./failure.js";

const progressSchema = z.strictObject({ done: z.number(), total: z.number().optional(), unit: z.string(), detail: z.string().optional() });

/** The form of what a task reports. */
export const taskEventSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("log"), level: z.enum(logLevels), message: z.string(), fields: z.record(z.string(), z.unknown()) }),
  z.strictObject({ type: z.literal("progress"), progress: progressSchema }),
  z.strictObject({ type: z.literal("metrics"), values: z.record(z.string(), z.number()), step: z.number().optional() }),
]);

/** What a task reports. */
export type TaskEvent = z.output<typeof taskEventSchema>;

/** What a task tells whoever started its process: the worker, or the task that opened its pool. */
export const taskService = defineService("iris.task", {
  report: unary({ input: z.strictObject({ attemptUid: z.string(), events: z.array(taskEventSchema) }), output: z.null() }),
});

/** What is asked of a task's process. */
export const controlService = defineService("iris.control", {
  /** Aborts the signal of the task's context. */
  abort: unary({ input: z.strictObject({ reason: z.custom<WireFailure>((value) => typeof value === "object" && value !== null) }), output: z.null() }),
  /** Cleans up; answers when that is done. */
  finish: unary({ input: z.strictObject({}), output: z.null() }),
});
