import { it } from "vitest";
import { fuzzServer } from "../../test/fuzz-server.js";

it("HTTP endpoints fuzzed with 10,000 requests: no crash, no hang, no unbounded memory; nothing but health without a credential", { timeout: 1_200_000 }, () => fuzzServer(10_000, 5_001));
