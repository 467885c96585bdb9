const brand: unique symbol = Symbol.for("marin.error");

/** What a {@link MarinError} may carry besides its code and message. */
export interface MarinErrorOptions {
  /** Facts a program can act on (path, offset, expected, found). Never put a secret here: it is printed and sent. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/**
 * The one error class of Marin's packages. Match on `code`, which is stable and starts with the package's name
 * ("RIGGING_DISK_FULL"); the message is for people: it names what failed, where, and what would be right.
 *
 * `instanceof` fails when an application holds two copies of this package: use {@link isMarinError}.
 */
export class MarinError extends Error {
  /** Stable, upper case, prefixed with the package's name. */
  readonly code: string;
  /** Facts a program can act on; frozen. */
  readonly data: Readonly<Record<string, unknown>>;

  /**
   * @param code - stable code, for example "RIGGING_DISK_FULL"
   * @param message - what failed, where, and what would be right
   */
  constructor(code: string, message: string, options: MarinErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "MarinError";
    this.code = code;
    this.data = Object.freeze({ ...options.data });
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Whether `error` is a {@link MarinError}, from this or any other copy of the package, and has the code when one is given.
 *
 * @param error - anything that was thrown
 * @param code - when given, the error must have exactly this code
 */
export function isMarinError(error: unknown, code?: string): error is MarinError {
  if (typeof error !== "object" || error === null) return false;
  if ((error as { readonly [brand]?: unknown })[brand] !== true) return false;
  return code === undefined || (error as MarinError).code === code;
}
