import type { Connection } from "@marin/ducky";
import type { IrisApi } from "../client/iris-api.js";
import { attemptApi } from "../client/iris-service.js";
import { resumingApi } from "../client/resuming-api.js";

/**
 * The controller as an attempt sees it, over the worker's connection of the moment.
 *
 * @param connected - the connection there is, or the next
 * @param attemptUid - the attempt
 */
export function passingApi(connected: (signal: AbortSignal) => Promise<Connection>, attemptUid: string): IrisApi {
  return resumingApi(connected, (connection) => attemptApi(connection, attemptUid));
}
