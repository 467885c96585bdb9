import { MarinError } from "@marin/iris";
import { elementCount, sameShape } from "./shape.js";
import type { DType, EngineBuffer, Specs, TensorData, TensorSpec } from "./types.js";

const arrayNames: Readonly<Record<DType, string>> = { float32: "Float32Array", int32: "Int32Array", bool: "Uint8Array" };

/** A fresh, zero-filled host array for a tensor. */
export function hostArray(spec: TensorSpec): TensorData {
  const count = elementCount(spec.shape);
  if (spec.dtype === "float32") return new Float32Array(count);
  return spec.dtype === "int32" ? new Int32Array(count) : new Uint8Array(count);
}

/** Throws `LEVANTER_SHAPE` unless `data` has the array type and the length that the spec asks for. */
export function requireData(name: string, spec: TensorSpec, data: TensorData): void {
  const expected = elementCount(spec.shape);
  if (data.constructor.name === arrayNames[spec.dtype] && data.length === expected) return;
  throw new MarinError(
    "LEVANTER_SHAPE",
    `"${name}" is ${spec.dtype} [${spec.shape.join(", ")}] and takes a ${arrayNames[spec.dtype]} of ${expected}; given: a ${data.constructor.name} of ${data.length}`,
    { data: { name, shape: spec.shape, dtype: spec.dtype, expected, found: data.length } },
  );
}

/** Whether two tensors have equal shapes and element types. */
export function sameSpec(a: TensorSpec, b: TensorSpec): boolean {
  return a.dtype === b.dtype && sameShape(a.shape, b.shape);
}

/**
 * The buffers of a call, in the order of the specs. Throws `LEVANTER_SHAPE` for a missing buffer or one of another spec.
 *
 * @param what - names the call in messages, for example `input of "loss"`
 */
export function requireBuffers(what: string, specs: Specs, given: Readonly<Record<string, EngineBuffer>>): readonly (readonly [string, EngineBuffer])[] {
  return Object.entries(specs).map(([name, spec]) => {
    const buffer = given[name];
    if (buffer === undefined) {
      throw new MarinError("LEVANTER_SHAPE", `${what}: "${name}" is missing; given: ${Object.keys(given).slice(0, 8).join(", ")}`, { data: { name } });
    }
    if (!sameSpec(buffer.spec, spec)) {
      throw new MarinError(
        "LEVANTER_SHAPE",
        `${what}: "${name}" must be ${spec.dtype} [${spec.shape.join(", ")}]; given: ${buffer.spec.dtype} [${buffer.spec.shape.join(", ")}]`,
        { data: { name, expected: spec, found: buffer.spec } },
      );
    }
    return [name, buffer] as const;
  });
}

/** Throws `LEVANTER_ALIASED` when a buffer is written that the same call reads, or written twice. */
export function requireDistinct(what: string, inputs: readonly (readonly [string, EngineBuffer])[], outputs: readonly (readonly [string, EngineBuffer])[]): void {
  const taken = new Map<EngineBuffer, string>(inputs.map(([name, buffer]) => [buffer, `input "${name}"`]));
  for (const [name, buffer] of outputs) {
    const other = taken.get(buffer);
    if (other !== undefined) {
      throw new MarinError("LEVANTER_ALIASED", `${what}: output "${name}" and ${other} are the same buffer; give the output one of its own`, { data: { output: name } });
    }
    taken.set(buffer, `output "${name}"`);
  }
}

/**
 * Throws unless all groups named are given, hold only float32, and have equal specs (`LEVANTER_SHAPE`).
 *
 * @returns the specs that all groups share
 */
export function requireEqualGroups(what: string, names: readonly string[], given: Readonly<Record<string, { readonly specs: Specs } | undefined>>): Specs {
  let first: readonly [string, Specs] | undefined;
  for (const name of names) {
    const specs = given[name]?.specs;
    if (specs === undefined) throw new MarinError("LEVANTER_SHAPE", `${what}: group "${name}" is missing`, { data: { group: name } });
    const odd = Object.entries(specs).find(([, spec]) => spec.dtype !== "float32");
    if (odd !== undefined) {
      throw new MarinError("LEVANTER_SHAPE", `${what}: group "${name}" holds "${odd[0]}" of ${odd[1].dtype}; element-wise programs and reductions take float32 only`, {
        data: { group: name, tensor: odd[0] },
      });
    }
    first ??= [name, specs];
    const difference = specsDifference(first[1], specs);
    if (difference !== undefined) {
      throw new MarinError("LEVANTER_SHAPE", `${what}: groups "${first[0]}" and "${name}" differ: ${difference}`, { data: { groups: [first[0], name] } });
    }
  }
  if (first === undefined) throw new MarinError("LEVANTER_SHAPE", `${what}: needs at least one group`);
  return first[1];
}

/** Throws `LEVANTER_ALIASED` when one group is given under two names. */
export function requireDistinctGroups(what: string, names: readonly string[], given: Readonly<Record<string, object | undefined>>): void {
  const taken = new Map<object | undefined, string>();
  for (const name of names) {
    const other = taken.get(given[name]);
    if (other !== undefined) {
      throw new MarinError("LEVANTER_ALIASED", `${what}: "${other}" and "${name}" are the same group; give each a group of its own`, { data: { groups: [other, name] } });
    }
    taken.set(given[name], name);
  }
}

function specsDifference(a: Specs, b: Specs): string | undefined {
  if (a === b) return undefined;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [x, y] = [left[i], right[i]];
    if (x === undefined || y === undefined || x[0] !== y[0]) return `tensor ${i} is "${x?.[0] ?? "absent"}" in one and "${y?.[0] ?? "absent"}" in the other`;
    if (!sameSpec(x[1], y[1])) return `"${x[0]}" is [${x[1].shape.join(", ")}] in one and [${y[1].shape.join(", ")}] in the other`;
  }
  return undefined;
}

/** The number of a call's scalar. Throws `LEVANTER_SHAPE` when it is missing. */
export function requireScalar(what: string, name: string, given: Readonly<Record<string, number>>): number {
  const value = given[name];
  if (value === undefined) throw new MarinError("LEVANTER_SHAPE", `${what}: scalar "${name}" is missing`, { data: { scalar: name } });
  return value;
}

/** The error for a buffer or group that another engine allocated. */
export function foreignBuffer(): MarinError {
  return new MarinError("LEVANTER_FOREIGN_BUFFER", "a buffer belongs to another engine; allocate it with the engine that runs the program");
}
