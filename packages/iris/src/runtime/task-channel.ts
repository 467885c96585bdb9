import { type Connection, isMarinError } from "@marin/ducky";
import { type TaskEvent, taskEventSchema, taskService } from "./task-service.js";

/** Messages without an answer from which on reports are gathered. */
const maxUnderWay = 64;

/** The way from a task's process to whoever started it. */
export interface TaskChannel {
  /** Sends a report; in order. */
  send(event: TaskEvent): void;
  /** Resolves when all reports so far have arrived, or can no longer. */
  flush(): Promise<void>;
}

/**
 * A channel over a connection whose other end serves "iris.task". Where it does not, or is gone, log lines go to standard error and other reports
 * are dropped.
 *
 * @param connection - to whoever started this process or thread
 * @param attemptUid - the attempt that reports. Default "": the other end knows
 * @param write - a way among what the process prints, which tells whether it took the report. Default none
 */
export function connectionChannel(connection: Connection, attemptUid = "", write?: (event: TaskEvent) => boolean): TaskChannel {
  const calls = connection.client(taskService);
  const gathered: TaskEvent[] = [];
  const underWay = new Set<Promise<void>>();
  let reachable = true;

  const report = async (events: TaskEvent[]): Promise<void> => {
    try {
      if (reachable) return void (await calls.report({ attemptUid, events }));
    } catch (error) {
      reachable = !isMarinError(error, "DUCKY_UNKNOWN_SERVICE") && !isMarinError(error, "DUCKY_CLOSED");
    }
    for (const event of events) printLog(event);
  };
  const post = (events: TaskEvent[]): void => {
    const reported = report(events).then(() => {
      underWay.delete(reported);
      if (gathered.length > 0) post(gathered.splice(0));
    });
    underWay.add(reported);
  };
  return {
    send: (given) => {
      const event = checked(given);
      if (write?.(event) === true) return;
      // At once, so that a crash right after it loses nothing; together with others where the other end is behind.
      if (underWay.size < maxUnderWay) post([event]);
      else gathered.push(event);
    },
    flush: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** A channel to nobody: log lines go to standard error. */
export function brokenChannel(): TaskChannel {
  return { send: printLog, flush: async () => undefined };
}

/** What is no report goes into the log as such: whoever keeps reports would refuse it, and with it all that come after it. */
function checked(event: TaskEvent): TaskEvent {
  const { error } = taskEventSchema.safeParse(event);
  if (error === undefined) return event;
  const problems = error.issues.slice(0, 5).map(({ path, message }) => `${path.map(String).join(".")}: ${message}`);
  return { type: "log", level: "warn", message: `A report of ${event.type} was not taken: ${problems.join("; ")}.`, fields: {} };
}

function printLog(event: TaskEvent): void {
  if (event.type !== "log") return;
  const fields = Object.entries(event.fields).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  process.stderr.write(`${event.level} ${event.message}${fields.join("")}\n`);
}
