import { describe, test } from "vitest";
import { transportCases } from "../conformance/index.js";
import { webSocketActors } from "../index.js";

describe("WebSockets carry calls of actors:", () => {
  for (const { name, run } of transportCases()) test(name, () => run(webSocketActors({ token: "a token of the test" })));
});
