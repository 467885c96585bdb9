/** A program that offers an actor, run by tests: prints its reference. */
import { LocalClient, webSocketActors } from "@marin/fray";
import { Counter } from "./actors.js";

const client = new LocalClient({ name: "host" });
const actor = await client.hostActor(new Counter(0), { name: "counter" });
await client.listen(webSocketActors());
console.log(JSON.stringify(actor));
