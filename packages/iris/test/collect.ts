/** All items of a stream (`Array.fromAsync`, which Node 20 lacks). */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
