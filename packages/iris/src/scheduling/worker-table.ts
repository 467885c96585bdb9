import type { Device } from "../jobs/job-spec.js";
import { type Amounts, addTo, amountsOf, dimensionCount, fits } from "./amounts.js";
import { type Bits, addBit, allBits, both, hasBit, join, noBits, takeOut } from "./bits.js";
import type { AttributeValue, Constraint } from "./constraints.js";
import type { SchedulingWorker } from "./snapshot.js";

/** The workers with an index of their attributes, and tables of their room. */
export class WorkerTable {
  /** Those without devices first, so that they are what a task without one finds first; else in the given order. */
  readonly workers: readonly SchedulingWorker[];
  /** Each worker's place. */
  readonly indexOf: ReadonlyMap<string, number>;
  /** All they have, four amounts to a worker. */
  readonly capacity: Float64Array;
  /** What is free now. Negative where it is promised and not free yet. */
  readonly free: Float64Array;
  /** What will be free once all that is stopping has ended. */
  readonly soon: Float64Array;
  /** Attempts that do not run yet. */
  readonly starting: Int32Array;
  /** Tasks of gangs on TPUs: their slice is theirs alone. */
  readonly tpuGangTasks: Int32Array;
  /** Those that take new attempts. */
  readonly accepting: Bits;
  /** Whether those are all. */
  readonly allAccept: boolean;
  readonly #byAttribute = new Map<string, Map<string, { readonly value: AttributeValue; readonly bits: Bits }>>();
  readonly #taints = new Map<string, Bits>();
  readonly #untainted = new Map<string, Bits>();
  readonly #matching = new Map<string, Bits>();
  /** The least that any worker has of each. */
  readonly #least = new Float64Array(dimensionCount).fill(Infinity);
  readonly #groups = new Map<string, ReadonlyMap<string, readonly number[]>>();

  constructor(given: readonly SchedulingWorker[]) {
    const workers = [...given.filter(({ capacity }) => capacity.device === undefined), ...given.filter(({ capacity }) => capacity.device !== undefined)];
    const size = workers.length;
    this.workers = workers;
    this.allAccept = workers.every(({ accepting }) => accepting !== false);
    this.indexOf = new Map(workers.map(({ name }, index) => [name, index]));
    this.capacity = new Float64Array(size * dimensionCount);
    this.starting = new Int32Array(size);
    this.tpuGangTasks = new Int32Array(size);
    this.accepting = noBits(size);
    for (const [index, { name, capacity, attributes, taints, accepting }] of workers.entries()) {
      addTo(this.capacity, index, amountsOf(capacity), 1);
      if (accepting !== false) addBit(this.accepting, index);
      const { device } = capacity;
      for (const [dimension, amount] of amountsOf(capacity).entries()) this.#least[dimension] = Math.min(this.#least[dimension] as number, amount);
      for (const [attribute, value] of Object.entries(attributes)) this.#index(attribute, value, index);
      this.#index("worker", name, index);
      this.#index("device-kind", device?.kind ?? "cpu", index);
      if (device?.variant !== undefined) this.#index("device-variant", device.variant, index);
      for (const taint of taints) addBit(getOrAdd(this.#taints, taint, () => noBits(size)), index);
    }
    this.free = this.capacity.slice();
    this.soon = this.capacity.slice();
  }

  get size(): number {
    return this.workers.length;
  }

  /** The workers that fulfil a constraint, hard or soft. Not to be changed. */
  matching(constraint: Constraint): Bits {
    return getOrAdd(this.#matching, keyOfConstraint(constraint), () => this.#match(constraint));
  }

  /** The workers that have such devices, however many. Not to be changed. */
  having({ kind, variant }: Device): Bits {
    const bits = this.matching({ attribute: "device-kind", op: "EQ", value: kind });
    return variant === undefined ? bits : both(bits, this.matching({ attribute: "device-variant", op: "EQ", value: variant }));
  }

  /** The workers without a taint that is not tolerated. Not to be changed. */
  untainted(tolerations: readonly string[]): Bits {
    return getOrAdd(this.#untainted, tolerations.join(), () => {
      const bits = allBits(this.size);
      for (const [taint, tainted] of this.#taints) if (!tolerations.includes(taint)) takeOut(bits, tainted);
      return bits;
    });
  }

  /** Whether every worker is as large as that. */
  allHold(asked: Amounts): boolean {
    return fits(asked, this.#least, 0);
  }

  /** The values that an attribute has on some worker, for people. */
  valuesOf(attribute: string): string[] {
    return [...(this.#byAttribute.get(attribute)?.values() ?? [])].map(({ value }) => String(value)).sort();
  }

  /** The workers by their value of an attribute, each group in the order of the names ("w2" before "w10"). Without an attribute: all of them, in their order. */
  groups(attribute: string | undefined): ReadonlyMap<string, readonly number[]> {
    if (attribute === undefined) return new Map([["", this.workers.map((_, index) => index)]]);
    return getOrAdd(this.#groups, attribute, () => {
      const values = [...(this.#byAttribute.get(attribute) ?? [])].sort(([a], [b]) => compareNatural(a, b));
      return new Map(
        values.map(([, { value, bits }]) => {
          const members = this.workers.flatMap((_, index) => (hasBit(bits, index) ? [index] : []));
          return [String(value), members.sort((a, b) => compareNatural(this.workers[a]?.name ?? "", this.workers[b]?.name ?? ""))];
        }),
      );
    });
  }

  /** Takes room of a worker, now and for later. */
  take(worker: number, amounts: Amounts): void {
    addTo(this.free, worker, amounts, -1);
    addTo(this.soon, worker, amounts, -1);
  }

  #index(attribute: string, value: AttributeValue, worker: number): void {
    const values = getOrAdd(this.#byAttribute, attribute, () => new Map<string, { readonly value: AttributeValue; readonly bits: Bits }>());
    addBit(getOrAdd(values, fold(value), () => ({ value, bits: noBits(this.size) })).bits, worker);
  }

  #match(constraint: Constraint): Bits {
    const values = this.#byAttribute.get(constraint.attribute);
    const equal = (value: AttributeValue): Bits => values?.get(fold(value))?.bits ?? noBits(this.size);
    switch (constraint.op) {
      case "EQ":
        return equal(constraint.value);
      case "NE":
        return without(this.size, equal(constraint.value));
      case "IN":
        return union(this.size, constraint.values.map(equal));
      case "EXISTS":
        return union(this.size, [...(values?.values() ?? [])].map(({ bits }) => bits));
      case "NOT_EXISTS":
        return without(this.size, union(this.size, [...(values?.values() ?? [])].map(({ bits }) => bits)));
      default: {
        const { op, value: bound } = constraint;
        const right = [...(values?.values() ?? [])].filter(({ value }) => typeof value === "number" && compares(op, value, bound));
        return union(this.size, right.map(({ bits }) => bits));
      }
    }
  }
}

function compares(op: "GT" | "GE" | "LT" | "LE", value: number, bound: number): boolean {
  if (op === "GT") return value > bound;
  if (op === "GE") return value >= bound;
  return op === "LT" ? value < bound : value <= bound;
}

/** Strings are compared without regard to case; a number is never equal to a string. */
function fold(value: AttributeValue): string {
  return typeof value === "string" ? `s${value.toLowerCase()}` : `${typeof value === "number" ? "n" : "b"}${String(value)}`;
}

function union(size: number, all: readonly Bits[]): Bits {
  const bits = noBits(size);
  for (const each of all) join(bits, each);
  return bits;
}

function without(size: number, other: Bits): Bits {
  const bits = allBits(size);
  takeOut(bits, other);
  return bits;
}

/** By text, runs of digits by their number. */
function compareNatural(a: string, b: string): number {
  const [left, right] = [a.split(/(\d+)/), b.split(/(\d+)/)];
  for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
    const [x, y] = [left[place] ?? "", right[place] ?? ""];
    if (x === y) continue;
    if (place % 2 === 1 && Number(x) !== Number(y)) return Number(x) - Number(y);
    return x < y ? -1 : 1;
  }
  return left.length - right.length;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/** The constraint as text that is equal for equal ones. */
export function keyOfConstraint(constraint: Constraint): string {
  const { op, attribute, soft } = constraint;
  const value = "values" in constraint ? JSON.stringify(constraint.values) : "value" in constraint ? `${typeof constraint.value} ${String(constraint.value)}` : "";
  return `${soft === true ? "~" : ""}${op} ${attribute} ${value}`;
}
