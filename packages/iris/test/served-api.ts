import type { IrisApi, JobSummary, WireStatus } from "../src/client/iris-api.js";
import { checkJobSpec } from "../src/jobs/job-spec.js";
import { inheritJobSpec } from "../src/jobs/job-spec-inheritance.js";
import type { LogLine } from "../src/jobs/job-status.js";
import { MarinError } from "../src/platform.js";


/** A controller's answers, given: for tests of what is made of them. */
export interface GivenAnswers {
  readonly jobs?: readonly JobSummary[];
  readonly status?: WireStatus;
  readonly lines?: readonly LogLine[];
  /** What happens to a log after the given lines: it goes on for ever, fails, or ends (default). */
  readonly then?: "hang" | "fail";
  /** Told of each call. */
  readonly onCall?: (name: string, request: unknown) => void;
}

export function summary(id: string, more: Partial<JobSummary> = {}): JobSummary {
  return { uid: `uid${id.replaceAll("/", "-")}`, id, name: id.slice(id.lastIndexOf("/") + 1), user: "ada", state: "RUNNING", submittedAt: "2026-01-01T00:00:00.000Z", tasks: { RUNNING: 1 }, ...more };
}

export function line(message: string, more: Partial<LogLine> = {}): LogLine {
  return { time: "2026-01-01T00:00:00.000Z", level: "info", source: "log", taskIndex: 0, attempt: 0, message, ...more };
}

export function givenApi({ jobs = [], status, lines = [], then, onCall = () => undefined }: GivenAnswers): IrisApi {
  const known = (job: string): WireStatus => {
    if (status !== undefined && (job === status.id || job === status.uid)) return status;
    throw new MarinError("IRIS_NO_JOB", `There is no job ${job}.`);
  };
  const refuse = (): never => {
    throw new MarinError("IRIS_BAD_JOB", "Not in this test.");
  };
  const told = <T extends object>(api: T): T =>
    Object.fromEntries(Object.entries(api).map(([name, call]) => [name, (request: unknown, options: unknown): unknown => (onCall(name, request), (call as (...given: unknown[]) => unknown)(request, options))])) as T;
  return told<IrisApi>({
    submit: async () => refuse(),
    status: async ({ job }) => known(job),
    list: async ({ prefix = "" }) => jobs.filter(({ id }) => id.startsWith(prefix)),
    wait: async () => refuse(),
    cancel: async ({ job }) => (known(job), null),
    complete: async ({ job }) => (known(job), null),
    async *values() {
      yield* [];
    },
    async *events() {
      yield* [];
    },
    async *logs({ job, tail }, options) {
      known(job);
      if (lines.length > 0) yield { lines: tail === undefined ? lines : lines.slice(lines.length - tail), next: lines.length };
      if (then === "fail") throw new MarinError("IRIS_LOG_LOST", "the log is gone");
      if (then === "hang") await new Promise((_, reject) => options?.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error)));
    },
    workers: async () => [
      {
        name: "w1", state: "reachable", lastHeardAt: "2026-01-01T00:00:00.000Z", attributes: { region: "eu" }, attempts: [],
        capacity: { cpu: 8, memoryBytes: 16 * 2 ** 30, diskBytes: 0, device: { kind: "gpu", variant: "h100", count: 8 } },
        used: { cpu: 2, memoryBytes: 2 ** 30, diskBytes: 0 },
      },
    ],
    users: async () => [{ user: "ada", spend: 11 }],
    setBudget: async () => null,
    register: async () => refuse(),
    renew: async () => refuse(),
    unregister: async () => refuse(),
    resolve: async () => ({ address: null }),
    describe: async ({ job }) => {
      const { args: _args, env: _env, ...spec } = inheritJobSpec(checkJobSpec({ name: known(job).id.slice(1), command: ["true"] }), undefined);
      return { ...spec, envNames: ["HF_TOKEN"] };
    },
    async *exec({ job }) {
      known(job);
      yield { type: "exit", code: 0, signal: null };
    },
  });
}
