import fc from "fast-check";
import { expect, test } from "vitest";
import { errorFromWire, errorToWire } from "./error-wire.js";
import { isMarinError, MarinError } from "./errors.js";

/** What actually happens between two processes: JSON text. */
function send(error: unknown): Error {
  return errorFromWire(JSON.parse(JSON.stringify(errorToWire(error))));
}

test("class name, code, data and the chain of causes survive the trip", () => {
  const system = Object.assign(new Error("no such file"), { code: "ENOENT" });
  const middle = new TypeError("middle", { cause: system });
  const received = send(new MarinError("DUCKY_TEST", "outer", { data: { path: "a", bytes: 7 }, cause: middle }));
  expect(isMarinError(received, "DUCKY_TEST")).toBe(true);
  expect((received as MarinError).data).toEqual({ path: "a", bytes: 7 });
  const cause = received.cause as Error;
  expect(cause.name).toBe("TypeError");
  expect(cause.message).toBe("middle");
  expect((cause.cause as { code: string }).code).toBe("ENOENT");
});

test.each([new TypeError("t"), new RangeError("r"), new SyntaxError("s"), new URIError("u"), AbortSignal.abort().reason as DOMException, new DOMException("late", "TimeoutError")])("%s is of its own class where it arrives", (error) => {
  const received = send(error);
  expect(received).toBeInstanceOf(error.constructor);
  expect(received).toMatchObject({ name: error.name, message: error.message });
});

test("an error of a user's class keeps its name", () => {
  class QuotaError extends Error {
    override readonly name = "QuotaError";
  }
  expect(send(new QuotaError("too much"))).toMatchObject({ name: "QuotaError", message: "too much" });
});

test("the sender's stack is not sent", () => {
  const wire = JSON.stringify(errorToWire(new MarinError("DUCKY_TEST", "outer", { cause: new Error("inner") })));
  expect(wire).not.toContain("error-wire.test");
  expect(wire).not.toContain("stack");
});

test("any JSON data comes back equal", () => {
  const key = fc.string().filter((name) => name !== "__proto__");
  const json = fc.dictionary(key, fc.jsonValue({ maxDepth: 4 }));
  fc.assert(
    fc.property(json, fc.string(), (data, message) => {
      const sent = JSON.parse(JSON.stringify(data)) as Record<string, unknown>;
      const received = send(new MarinError("DUCKY_TEST", message, { data: sent })) as MarinError;
      expect(received.data).toEqual(sent);
      expect(received.message).toBe(message);
    }),
  );
});

test("values JSON has no form for become strings and never fail the trip", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const received = send(
    new MarinError("DUCKY_TEST", "m", { data: { big: 2n ** 64n, nan: NaN, loop, at: new Date(0), gone: undefined, inner: new RangeError("x") } }),
  ) as MarinError;
  expect(received.data).toMatchObject({ big: "18446744073709551616", nan: "NaN", at: "1970-01-01T00:00:00.000Z", inner: "RangeError: x" });
  expect("gone" in received.data).toBe(false);
  expect(JSON.stringify(received.data["loop"])).toContain("[nested too deeply]");
});

test("whatever was thrown arrives as an error, also where its fields are no texts, or cannot be read", () => {
  const unreadable = Object.defineProperty(new Error("x"), "message", {
    get() {
      throw new Error("no");
    },
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(send(Object.assign(new Error("x"), { name: 7, message: { why: 5 } }))).toMatchObject({ name: "Error", message: '{"why":5}' });
  for (const thrown of [unreadable, proxy, { toJSON: () => unreadable.message }]) expect(send(thrown).message).toBe("[what was thrown cannot be read]");
  expect(send(new TypeError("outer", { cause: proxy }))).toMatchObject({ name: "TypeError", message: "outer", cause: { message: "[what was thrown cannot be read]" } });
});

test("a key named __proto__ is data, not a prototype", () => {
  const data = JSON.parse('{"__proto__": {"polluted": true}}') as Record<string, unknown>;
  expect(JSON.stringify(errorToWire(new MarinError("DUCKY_TEST", "m", { data })))).toContain('"__proto__":{"polluted":true}');
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("a chain of causes that loops is cut", () => {
  const first = new Error("first");
  const second = new Error("second", { cause: first });
  first.cause = second;
  let links = 0;
  for (let error: unknown = send(first); error instanceof Error; error = error.cause) links += 1;
  expect(links).toBeGreaterThan(2);
  expect(links).toBeLessThan(20);
});

test("thrown values that are no errors arrive as an error with the value as message", () => {
  expect(send("boom").message).toBe("boom");
  expect(send(undefined).message).toBe("undefined");
});

test.each([
  [null, "error must be an object, found null"],
  [[], "error must be an object, found an array"],
  [{ name: "E" }, "error.message must be a string, found undefined"],
  [{ name: "E", message: "m", code: 3 }, "error.code must be a string, found number"],
  [{ name: "E", message: "m", data: {} }, "error.code must be a string, because there is data"],
  [{ name: "E", message: "m", cause: "x" }, "error.cause must be an object, found string"],
])("a malformed message %j is refused, naming the field", (wire, message) => {
  expect(() => errorFromWire(wire)).toThrow(message);
});

test("a thrown object arrives as its JSON", () => {
  expect(send({ status: 404 }).message).toBe('{"status":404}');
});
