import { expect, test, vi } from "vitest";
import { isMarinError, MarinError } from "./errors.js";

test("an error carries code, data, cause and prints its message", () => {
  const cause = new TypeError("inner");
  const error = new MarinError("DUCKY_TEST", "disk a is full", { data: { path: "a" }, cause });
  expect(error).toBeInstanceOf(Error);
  expect(error.code).toBe("DUCKY_TEST");
  expect(error.data).toEqual({ path: "a" });
  expect(error.cause).toBe(cause);
  expect(String(error)).toBe("MarinError: disk a is full");
  expect(error.stack).toContain("errors.test.ts");
});

test("data is a frozen copy, so a later change of the caller's object does not alter the error", () => {
  const data = { path: "a" };
  const error = new MarinError("DUCKY_TEST", "m", { data });
  data.path = "b";
  expect(error.data["path"]).toBe("a");
  expect(Object.isFrozen(error.data)).toBe(true);
});

test("no cause given means no cause property", () => {
  expect("cause" in new MarinError("DUCKY_TEST", "m")).toBe(false);
});

test("isMarinError asks for the brand and, when given, the code", () => {
  const error = new MarinError("DUCKY_TEST", "m");
  expect(isMarinError(error)).toBe(true);
  expect(isMarinError(error, "DUCKY_TEST")).toBe(true);
  expect(isMarinError(error, "DUCKY_OTHER")).toBe(false);
  for (const other of [new Error("m"), { code: "DUCKY_TEST" }, "DUCKY_TEST", null, undefined, 7]) {
    expect(isMarinError(other)).toBe(false);
  }
});

test("an error made by a second copy of the module is recognised, though instanceof fails", async () => {
  vi.resetModules();
  const copy = await import("./errors.js");
  const foreign = new copy.MarinError("DUCKY_TEST", "m");
  expect(copy.MarinError).not.toBe(MarinError);
  expect(foreign instanceof MarinError).toBe(false);
  expect(isMarinError(foreign, "DUCKY_TEST")).toBe(true);
});
