import { MarinError } from "../platform.js";

/** The port of that name, or an error that lists the names there are. */
export function portOf(ports: Readonly<Record<string, number>>, name: string, jobId: string): number {
  const port = Object.hasOwn(ports, name) ? ports[name] : undefined;
  if (port !== undefined) return port;
  const names = Object.keys(ports);
  throw new MarinError(
    "IRIS_NO_PORT",
    `The job ${jobId} has no port "${name}": ${names.length === 0 ? "it asked for none" : `it asked for ${names.join(", ")}`}. Name it in the job's ports.`,
    { data: { job: jobId, name, ports: names } },
  );
}
