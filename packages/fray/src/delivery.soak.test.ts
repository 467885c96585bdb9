import { expect, test } from "vitest";
import { killActors, type KillPlace } from "../test/kill-actors.js";

test.each<[number, KillPlace]>([[120, "thread"], [120, "process"], [60, "host"]])(
  "Actor delivery contract: %i kills of a %s at random moments: at most once, idempotent calls finish, typed errors in bounded time, streams resume or fail loudly",
  async (kills, place) => {
    expect(await killActors(place, kills)).toEqual({ kills, ranTwice: 0, untrue: 0, unfinished: 0, untyped: [], hanging: 0, wrongStreams: 0, met: { answered: true, lost: true, streamsResumed: true } });
  },
);
