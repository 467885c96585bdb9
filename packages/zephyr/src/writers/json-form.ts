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

/** Whether something was met whose text JSON.stringify would not give. */
interface Met {
  exact: boolean;
}

/**
 * The JSON text of a value, which holds all of it: a bigint as a whole number, a whole number beyond 2^53 with a point, so that it comes back as the
 * float64 that it is, a map of text keys as an object, a typed array as a list; everything else as JSON.stringify writes it.
 *
 * @returns undefined where there is none
 * @throws NoJsonForm for bytes, a set, a function, a symbol, a map with other keys
 */
export function jsonText(value: unknown): string | undefined {
  const met: Met = { exact: false };
  const form = jsonForm(value, "", met);
  return met.exact ? exactText(form) : JSON.stringify(form);
}

/** The value itself, or where it has parts that JSON.stringify would refuse or lose, a copy without them. Long numbers are left, and noted. */
function jsonForm(value: unknown, at: string, met: Met): unknown {
  switch (typeof value) {
    case "object":
      return value === null ? null : formOfObject(value, at, met);
    case "number":
      if (isLong(value)) met.exact = true;
      return value;
    case "bigint": {
      const number = Number(value);
      if (Number.isSafeInteger(number)) return number;
      met.exact = true;
      return value;
    }
    case "function":
    case "symbol":
      throw new NoJsonForm(at, `a ${typeof value} has no JSON form`);
    default:
      return value;
  }
}

/** Whether JSON.stringify would write it as a whole number beyond 2^53. */
function isLong(value: number): boolean {
  return (value > Number.MAX_SAFE_INTEGER || value < -Number.MAX_SAFE_INTEGER) && Math.abs(value) < 1e21;
}

/** The text of a form that holds long numbers. */
function exactText(form: unknown): string | undefined {
  if (typeof form === "bigint") return String(form);
  if (typeof form === "number" && isLong(form)) return `${String(form)}.0`;
  if (typeof form !== "object" || form === null || typeof (form as { readonly toJSON?: unknown }).toJSON === "function") return JSON.stringify(form);
  if (Array.isArray(form)) return `[${form.map((item) => exactText(item) ?? "null").join(",")}]`;
  const fields = Object.entries(form).flatMap(([name, field]) => {
    const text = exactText(field);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${fields.join(",")}}`;
}

function formOfObject(value: object, at: string, met: Met): unknown {
  if (Array.isArray(value)) return formOfList(value, at, met);
  if (value instanceof Map) {
    return Object.fromEntries(
      [...(value as ReadonlyMap<unknown, unknown>)].map(([key, item]) => {
        if (typeof key !== "string") throw new NoJsonForm(at, "a map whose keys are no text has no JSON form: make it a list of pairs");
        return [key, jsonForm(item, inside(at, key), met)] as const;
      }),
    );
  }
  if (value instanceof Uint8Array) throw new NoJsonForm(at, 'bytes have no JSON form: make them text, with Buffer.from(bytes).toString("base64")');
  if (value instanceof Set) throw new NoJsonForm(at, "a set has no JSON form: make it a list");
  if (ArrayBuffer.isView(value)) return formOfList(Array.from(value as unknown as ArrayLike<unknown>), at, met);
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === "function") return value;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof field === "string" || typeof field === "boolean" || (typeof field === "number" && !isLong(field))) continue;
    const form = jsonForm(field, inside(at, name), met);
    if (form !== field) (copy ??= { ...value })[name] = form;
  }
  return copy ?? value;
}

function formOfList(items: readonly unknown[], at: string, met: Met): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (typeof item === "string" || typeof item === "boolean" || (typeof item === "number" && !isLong(item))) continue;
    const form = jsonForm(item, `${at}[]`, met);
    if (form !== item) (copy ??= [...items])[index] = form;
  }
  return copy ?? items;
}

function inside(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}
