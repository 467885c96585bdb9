import { it } from "vitest";
import { fuzzServer } from "../../test/fuzz-server.js";

it("HTTP endpoints fuzzed with 100,000 requests: no crash, no hang, no unbounded memory; nothing but health without a credential", { timeout: 3_600_000 }, () => fuzzServer(100_000, 5_002));
