import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchSchedule, batchSizeSchema, microbatchSizeOf } from "./batch-schedule.js";

const STAGES = [
  { start: 0, value: 8 },
  { start: 10, value: 12 },
  { start: 13, value: 4 },
];

const anyStages = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 64 })), { minLength: 1, maxLength: 5 })
  .map((pairs) => {
    let start = 0;
    return pairs.map(([length, value], i) => ({ start: (start += i === 0 ? 0 : length), value }));
  });

describe("batchSchedule", () => {
  it("counts the rows before a step, stage by stage", () => {
    const { batchSizeAt, rowsBefore, largest, commonDivisor } = batchSchedule(STAGES);
    expect([0, 9, 10, 12, 13, 1000].map(batchSizeAt)).toEqual([8, 8, 12, 12, 4, 4]);
    expect([0, 1, 10, 11, 13, 14].map(rowsBefore)).toEqual([0, 8, 80, 92, 116, 120]);
    expect([largest, commonDivisor]).toEqual([12, 4]);
    expect(batchSchedule(8).rowsBefore(5)).toBe(40);
  });

  it("gives every row to exactly one step, in order", () => {
    fc.assert(
      fc.property(anyStages, (stages) => {
        const { batchSizeAt, rowsBefore } = batchSchedule(stages);
        let rows = 0;
        for (let step = 0; step < 110; step++) {
          expect(rowsBefore(step)).toBe(rows);
          rows += batchSizeAt(step);
        }
      }),
    );
  });

  it("stays exact where rows go into the billions", () => {
    const { rowsBefore } = batchSchedule([{ start: 0, value: 1023 }, { start: 1_000_001, value: 4096 }]);
    expect(rowsBefore(1_000_000_001)).toBe(1023 * 1_000_001 + 4096 * 999_000_000);
  });

  it.each([0, -1, 1.5, [], [{ start: 1, value: 8 }], [{ start: 0, value: 8 }, { start: 0, value: 4 }], [{ start: 0, value: 0 }]])("refuses %j", (batchSize) => {
    expect(() => batchSchedule(batchSize)).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG" }));
    expect(batchSizeSchema.safeParse(batchSize).success).toBe(false);
  });
});

describe("microbatchSizeOf", () => {
  it("is the given size where it divides every batch", () => {
    expect(microbatchSizeOf(8, 2)).toBe(2);
    expect(microbatchSizeOf(STAGES, 2)).toBe(2);
  });

  it("is by default the largest that does", () => {
    expect(microbatchSizeOf(8)).toBe(8);
    expect(microbatchSizeOf(STAGES)).toBe(4);
    fc.assert(
      fc.property(anyStages, (stages) => {
        const size = microbatchSizeOf(stages);
        expect(stages.every(({ value }) => value % size === 0)).toBe(true);
        for (let larger = size + 1; larger <= 64; larger++) expect(stages.every(({ value }) => value % larger === 0)).toBe(false);
      }),
    );
  });

  it("names the stage that it does not divide, and what would", () => {
    expect(() => microbatchSizeOf(STAGES, 8)).toThrow(/microbatchSize 8 must divide batchSize, which is 12 from step 10 on; .* is 4/);
  });
});
