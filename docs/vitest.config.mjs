export { default } from "../vitest.config.mjs";
