// What the packages above iris may use of the packages below it, by name.
export { MarinError, isMarinError, type MarinErrorOptions } from "@marin/ducky";
