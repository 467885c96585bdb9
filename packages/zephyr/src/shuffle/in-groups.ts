/** Records that may also be had in groups, as they become known: without a promise for each. */
export interface GroupedRecords extends AsyncIterable<unknown> {
  /** The records in groups: a group is iterated before the next is asked for. */
  groups(): AsyncIterable<Iterable<unknown>>;
}

/** Records in groups: those of their source, or of one each. */
export function inGroups(records: AsyncIterable<unknown>): AsyncIterable<Iterable<unknown>> {
  return typeof (records as Partial<GroupedRecords>).groups === "function" ? (records as GroupedRecords).groups() : eachAlone(records);
}

async function* eachAlone(records: AsyncIterable<unknown>): AsyncGenerator<[unknown]> {
  for await (const record of records) yield [record];
}
