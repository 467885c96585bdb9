import { provide, shardingExtension, type IrisContext, type ProvidedExtension } from "@marin/iris";
// By its own name: every step's process comes here, and few of them train.
import { configureMegascaleFromIris } from "@marin/levanter/megascale";

/**
 * The services that marin joins: packages that must not know of each other meet in a task's context. Levanter's sharding is offered
 * under iris's key, where zephyr asks for it.
 *
 * @param task - the task that the context is made for
 * @throws MarinError `LEVANTER_MEGASCALE` when the machine's variables do not fit the task
 */
export function contextExtensions(task: Pick<IrisContext, "taskIndex" | "numTasks">): readonly ProvidedExtension[] {
  return [provide(shardingExtension, configureMegascaleFromIris(task))];
}
