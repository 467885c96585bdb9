// Prints, as JSON, digests of what operations give on the compiled engine, in a process of its own: node --conditions=@marin/source --import tsx hash-operations.ts <threads> <name> ...
import { hashOperations } from "./operation-bits.js";

const [threads = "1", ...names] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await hashOperations(Number(threads), names)));
