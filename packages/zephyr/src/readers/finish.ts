import type { Format, FormatInput } from "./format.js";
import type { RecordGroups } from "./groups.js";

/** The records of a file by its format, each finished: by the format itself, or here with its number. */
export async function* finishedGroups(format: Format, input: FormatInput): RecordGroups<unknown> {
  const groups = format.groups?.(input) ?? single(format.read?.(input));
  if (format.finishes === true) {
    yield* groups;
    return;
  }
  let number = 0;
  const finished = function* (group: Iterable<unknown>): Generator {
    for (const value of group) {
      number += 1;
      const record = input.record(value, { record: number });
      if (record !== undefined) yield record;
    }
  };
  for await (const group of groups) yield finished(group);
}

async function* single(records: AsyncIterable<unknown> = noRecords()): RecordGroups<unknown> {
  for await (const record of records) yield [record];
}

/** A format without a reader is refused when it is registered. */
async function* noRecords(): AsyncGenerator {}
