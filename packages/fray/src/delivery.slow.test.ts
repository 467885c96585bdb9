import { expect, test } from "vitest";
import { killActors, type KillPlace } from "../test/kill-actors.js";

test.each<[number, KillPlace]>([[12, "thread"], [12, "process"], [6, "host"]])(
  "Actor delivery contract: %i kills of a %s at random moments: at most once, idempotent calls finish, typed errors in bounded time, streams resume or fail loudly",
  async (kills, place) => {
    const { met, ...seen } = await killActors(place, kills);
    expect(seen).toEqual({ kills, ranTwice: 0, untrue: 0, unfinished: 0, untyped: [], hanging: 0, wrongStreams: 0 });
    expect(met.answered).toBe(true);
  },
);
