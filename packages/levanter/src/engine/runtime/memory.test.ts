import fc from "fast-check";
import koffi from "koffi";
import { expect, test } from "vitest";
import type { DType, Specs } from "../types.js";
import { AlignedArena, layoutOf } from "./memory.js";

const addressOf = (buffer: ArrayBuffer): bigint => koffi.address(buffer);

const specsArbitrary = fc
  .array(fc.record({ shape: fc.array(fc.nat(5), { maxLength: 3 }), dtype: fc.constantFrom<DType>("float32", "int32", "bool") }), { minLength: 1, maxLength: 6 })
  .map((list): Specs => Object.fromEntries(list.map((spec, i) => [`t${i}`, spec])));

test("every tensor starts at a multiple of 64 bytes, is zero, and shares no byte with another", () => {
  fc.assert(
    fc.property(specsArbitrary, (specs) => {
      const arena = new AlignedArena(specs, addressOf);
      const names = Object.keys(specs);
      for (const name of names) {
        const view = arena.view(name);
        expect((addressOf(view.buffer as ArrayBuffer) + BigInt(view.byteOffset)) % 64n).toBe(0n);
        expect(view.every((value) => value === 0)).toBe(true);
      }
      names.forEach((name, i) => arena.view(name).fill(i + 1));
      names.forEach((name, i) => expect(arena.view(name).every((value) => value === i + 1)).toBe(true));
      expect(arena.flat().byteLength % 64).toBe(0);
    }),
  );
});

test("the order of names is the order in memory, with padding to 64 bytes", () => {
  const layout = layoutOf({ b: { shape: [17], dtype: "float32" }, a: { shape: [], dtype: "int32" }, c: { shape: [64], dtype: "bool" } });
  expect([...layout.offsets]).toEqual([["b", 0], ["a", 128], ["c", 192]]);
  expect(layout.byteLength).toBe(256);
});

test("impossible shapes and sizes are typed errors", () => {
  expect(() => layoutOf({ x: { shape: [2, -1], dtype: "float32" } })).toThrow(expect.objectContaining({ code: "LEVANTER_SHAPE", message: expect.stringContaining('"x" has the shape [2, -1]') as string }) as Error);
  expect(() => new AlignedArena({ x: { shape: [2 ** 50], dtype: "float32" } }, undefined)).toThrow(expect.objectContaining({ code: "LEVANTER_MEMORY" }) as Error);
});
