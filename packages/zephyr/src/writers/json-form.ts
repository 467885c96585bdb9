/** A value that JSON cannot hold, and where it stands. */
export class NoJsonForm extends Error {
  /** Where inside the record; "" for the record itself. */
  readonly at: string;

  /** @param at - where inside the record */
  constructor(at: string, message: string) {
    super(message);
    this.at = at;
  }
}

/**
 * A value whose JSON text holds all of it: the value itself, or where it has parts that JSON.stringify would refuse or lose, a copy with a
 * bigint that JavaScript's numbers hold as a number, a map of text keys as an object, a typed array as a list.
 *
 * @throws NoJsonForm for a bigint beyond 2^53, bytes, a set, a function, a symbol, a map with other keys
 */
export function jsonForm(value: unknown, at = ""): unknown {
  switch (typeof value) {
    case "object":
      return value === null ? null : formOfObject(value, at);
    case "bigint": {
      const number = Number(value);
      if (Number.isSafeInteger(number)) return number;
      throw new NoJsonForm(at, `the bigint ${String(value)} lies beyond 2^53, and readers of JSON would round it: make it text`);
    }
    case "function":
    case "symbol":
      throw new NoJsonForm(at, `a ${typeof value} has no JSON form`);
    default:
      return value;
  }
}

function formOfObject(value: object, at: string): unknown {
  if (Array.isArray(value)) return formOfList(value, at);
  if (value instanceof Map) {
    return Object.fromEntries(
      [...(value as ReadonlyMap<unknown, unknown>)].map(([key, item]) => {
        if (typeof key !== "string") throw new NoJsonForm(at, "a map whose keys are no text has no JSON form: make it a list of pairs");
        return [key, jsonForm(item, inside(at, key))] as const;
      }),
    );
  }
  if (value instanceof Uint8Array) throw new NoJsonForm(at, 'bytes have no JSON form: make them text, with Buffer.from(bytes).toString("base64")');
  if (value instanceof Set) throw new NoJsonForm(at, "a set has no JSON form: make it a list");
  if (ArrayBuffer.isView(value)) return formOfList(Array.from(value as unknown as ArrayLike<unknown>), at);
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === "function") return value;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof field === "string" || typeof field === "number" || typeof field === "boolean") continue;
    const form = jsonForm(field, inside(at, name));
    if (form !== field) (copy ??= { ...value })[name] = form;
  }
  return copy ?? value;
}

function formOfList(items: readonly unknown[], at: string): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (typeof item === "string" || typeof item === "number" || typeof item === "boolean") continue;
    const form = jsonForm(item, `${at}[]`);
    if (form !== item) (copy ??= [...items])[index] = form;
  }
  return copy ?? items;
}

function inside(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}
