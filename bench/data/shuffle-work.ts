/** The functions of zephyr's side of the section `shuffle`: workers import them from here. */

interface Row {
  readonly key: string;
  readonly value: number;
}

interface Sum {
  readonly key: string;
  readonly rows: number;
  readonly sum: number;
}

export function keyOf({ key }: { readonly key: string }): string {
  return key;
}

export function asSum({ key, value }: Row): Sum {
  return { key, rows: 1, sum: value };
}

export function addSums(a: Sum, b: Sum): Sum {
  return { key: a.key, rows: a.rows + b.rows, sum: a.sum + b.sum };
}

export async function sumOfRows(key: string, items: AsyncIterable<Row>): Promise<Sum> {
  const sum = { key, rows: 0, sum: 0 };
  for await (const { value } of items) {
    sum.rows += 1;
    sum.sum += value;
  }
  return sum;
}

export async function sumOfSums(key: string, items: AsyncIterable<Sum>): Promise<Sum> {
  const sum = { key, rows: 0, sum: 0 };
  for await (const part of items) {
    sum.rows += part.rows;
    sum.sum += part.sum;
  }
  return sum;
}
