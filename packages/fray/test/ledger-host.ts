/** A program that offers a ledger, run and killed by tests: the first argument is its file; prints its address. */
import { LocalClient, webSocketActors } from "@marin/fray";
import { Ledger } from "./ledger.js";

const client = new LocalClient({ name: "ledger host" });
await client.hostActor(new Ledger(process.argv[2] ?? ""), { name: "ledger", maxConcurrency: 4 });
console.log((await client.listen(webSocketActors())).address);
