/** Fray's side of `pnpm bench actors`. `--kind process|thread` and the workload. */
import { entry, LocalClient, transfer } from "@marin/fray";
import { actorsArguments, measureActors } from "./actors-protocol.js";
import type { BenchActor } from "./fray-actor.js";

const { kind, ...workload } = actorsArguments();
const client = new LocalClient({ name: "bench" });
const actor = await client.createActor(entry<typeof BenchActor>(new URL("./fray-actor.ts", import.meta.url), "BenchActor"), [], { kind, name: "measured" });
await measureActors(
  {
    version: `fray, ${kind}`,
    add: (a, b) => actor.add(a, b),
    items: (count) => actor.items(count),
    roundTrip: (bytes) => actor.echo(transfer(bytes, [bytes.buffer])),
    close: () => client.shutdown(),
  },
  workload,
);
