export { MarinError, isMarinError, type MarinErrorOptions } from "./errors.js";
export { errorFromWire, errorToWire, type JsonValue, type WireError } from "./error-wire.js";
