export { MarinError, isMarinError, type MarinErrorOptions } from "./platform.js";
