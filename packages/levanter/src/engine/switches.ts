import { MarinError } from "@marin/iris";

/** Environment variable with what the compiled engine leaves out, separated by commas: to measure what each gains. Results' last bits may differ without it. */
const VARIABLE = "MARIN_ENGINE_WITHOUT";

/** Rules of the passes, and the kernels that are one operator of the runtime. */
const SWITCHES = ["GatherPerRow", "GeluTanh", "LayerNorm", "LogSoftmax", "biasedProduct", "lengthenedSum", "scaledProduct", "scatterOntoSum", "slimProducts", "tallProduct", "wideProduct"] as const;

/** What can be left out, by its name in {@link VARIABLE}. */
export type Switch = (typeof SWITCHES)[number];

/**
 * What the environment leaves out at the time of the call.
 *
 * @throws MarinError `LEVANTER_CONFIG` where it names something else
 */
export function switchedOff(): ReadonlySet<string> {
  const names = (process.env[VARIABLE] ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
  const known: ReadonlySet<string> = new Set(SWITCHES);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new MarinError("LEVANTER_CONFIG", `${VARIABLE} names "${unknown}"; what can be left out is ${SWITCHES.join(", ")}`, { data: { variable: VARIABLE, unknown } });
  }
  return new Set(names);
}

/** The parts that the environment does not leave out. */
export function switchedOn<T>(parts: Partial<Readonly<Record<Switch, T>>>): readonly T[] {
  const off = switchedOff();
  return Object.entries(parts).flatMap(([name, part]) => (off.has(name) ? [] : [part]));
}
