import { transfer } from "@marin/fray";

/** What is called. */
export class BenchActor {
  add(a: number, b: number): number {
    return a + b;
  }

  async *items(count: number): AsyncGenerator<number> {
    for (let n = 0; n < count; n += 1) yield n;
  }

  echo(bytes: Uint8Array): Uint8Array {
    return transfer(bytes, [bytes.buffer]);
  }
}
