import { z } from "zod";
import type { FusedNode } from "./explanation.js";

/** An entry of the profile that ONNX Runtime writes (Chrome's trace format); times in microseconds. */
const eventSchema = z.object({
  cat: z.string(),
  name: z.string(),
  dur: z.number(),
  args: z.object({ op_name: z.string().optional() }).optional(),
});

const SUFFIX = "_kernel_time";

/** Times of one run, from a profile. */
export interface ProfiledTimes {
  /** Milliseconds of a whole run, the mean over those counted. */
  readonly run: number;
  /** Milliseconds of each graph node that has any, by its index. */
  readonly nodes: ReadonlyMap<number, number>;
  readonly fused: readonly FusedNode[];
}

/**
 * Reads a profile back.
 *
 * @param text - the file's contents
 * @param origins - for each ONNX node, by the number at the end of its name, the index of the graph node that it stands for
 * @param skip - runs at the beginning that do not count
 */
export function readProfile(text: string, origins: readonly number[], skip: number): ProfiledTimes {
  const events = z.array(z.unknown()).parse(JSON.parse(text)).flatMap((event) => {
    const parsed = eventSchema.safeParse(event);
    return parsed.success ? [parsed.data] : [];
  });
  const nodes = new Map<number, number>();
  const fused = new Map<string, { operator: string; milliseconds: number }>();
  let [run, runs] = [0, 0];
  // A run's own entry follows those of its nodes.
  for (const event of events) {
    if (event.name === "model_run") {
      runs += 1;
      if (runs > skip) run += event.dur / 1000;
    }
    if (event.cat !== "Node" || !event.name.endsWith(SUFFIX) || runs < skip) continue;
    const name = event.name.slice(0, -SUFFIX.length);
    const origin = originOf(name, origins);
    const milliseconds = event.dur / 1000;
    if (origin !== undefined) nodes.set(origin, (nodes.get(origin) ?? 0) + milliseconds);
    else fused.set(name, { operator: event.args?.op_name ?? name, milliseconds: (fused.get(name)?.milliseconds ?? 0) + milliseconds });
  }
  const counted = Math.max(1, runs - skip);
  return {
    run: run / counted,
    nodes: new Map([...nodes].map(([index, milliseconds]) => [index, milliseconds / counted])),
    fused: [...fused].map(([name, { operator, milliseconds }]) => ({ name, operator, milliseconds: milliseconds / counted })),
  };
}

/** The graph node that an ONNX node stands for. What the runtime makes of one node carries that node's name before its own; what it makes of several may not. */
function originOf(name: string, origins: readonly number[]): number | undefined {
  const number = /^(?:[\w.-]+\/)?[A-Z]\w*?_(\d+)(?:$|\W)/.exec(name)?.[1];
  return number === undefined ? undefined : origins[Number(number)];
}
