import { isMainThread, workerData, type MessagePort } from "node:worker_threads";
import { portChannel, processChannel, type ActorChannel } from "../actors/channel.js";

/** In a worker: the channel over which whoever started it calls its actors. */
export function actorChannel(): ActorChannel {
  return isMainThread ? processChannel(process) : portChannel((workerData as { readonly actorPort: MessagePort }).actorPort);
}
