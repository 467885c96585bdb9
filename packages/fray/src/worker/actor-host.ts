/** The worker's side of its actors: functions that whoever started the worker asks it to run. */
import { MarinError } from "@marin/ducky";
import { ActorCell, type CellOptions } from "../actors/cell.js";
import { ActorServer } from "../actors/actor-server.js";
import { messageKinds, type ActorDescription, type ActorSnapshot } from "../actors/messages.js";
import { describeEntry, loadEntry, type Entry } from "../entry.js";
import { shared, type CurrentActor } from "../shared.js";
import { actorChannel } from "./actor-channel.js";

/** An actor to be made. */
export interface ActorSpec extends CellOptions {
  readonly actor: CurrentActor;
  readonly made: Entry;
  readonly args: readonly unknown[];
  /** The state of the incarnation before, where there is one. */
  readonly snapshot: ActorSnapshot | undefined;
}

const server = new ActorServer("this worker");
const cells = new Map<string, ActorCell>();
const channel = actorChannel();
server.accept(channel);

/** Makes an actor. */
export async function createActor({ actor, made, args, snapshot, ...options }: ActorSpec): Promise<ActorDescription> {
  const make = await loadEntry(made);
  const never = new AbortController().signal;
  const isClass = /^class\b/.test(Function.prototype.toString.call(make));
  const given = shared.calls.run({ signal: never, actor }, (): unknown => (isClass ? Reflect.construct(make, args) : make(...args)));
  // Only a function's promise is waited for: an instance that has a method "then" is refused below.
  const instance: unknown = isClass ? given : await given;
  if (typeof instance !== "object" || instance === null) {
    throw new MarinError("FRAY_BAD_ACTOR", `${describeEntry(made)} gives no object: an actor is a class, or a function that makes an object with methods.`, { data: { ...made } });
  }
  const cell = new ActorCell(instance, actor, options, (taken) => {
    channel.send([messageKinds.snapshot, actor.name, taken]);
  });
  if (snapshot !== undefined) await cell.restore(snapshot);
  server.add(actor.name, cell);
  cells.set(actor.name, cell);
  return cell.describe();
}

/** Stops an actor: refuses what waits, and answers once what runs has ended. */
export async function removeActor(name: string): Promise<void> {
  const cell = cells.get(name);
  cells.delete(name);
  server.remove(name);
  await cell?.stop(new MarinError("FRAY_ACTOR_UNAVAILABLE", `The actor "${name}" was stopped: the call was not run.`, { data: { actor: name, state: "stopped", ran: "no" } }));
}
