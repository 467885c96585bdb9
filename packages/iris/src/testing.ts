// What tests of levanter and zephyr may use of the packages below iris, name by name.
export { startGcsServer, type GcsServer, type GcsServerOptions } from "@marin/rigging/testing";
