/**
 * What a `Client` and an `ActorTransport` must do, as cases for any test runner:
 * `for (const { name, run } of clientCases({ kind: "process" })) test(name, () => run(client))`. No assertion depends on how fast the machine is.
 */
export { clientCases, type ClientCase, type ClientCasesOptions } from "./cases.js";
export { transportCases, type TransportCase } from "./transport-cases.js";
