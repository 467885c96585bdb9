// What tests of levanter and zephyr may use of the packages below iris, name by name.
export { startGcsServer, startS3Server, type FaultChooser, type GcsServer, type GcsServerOptions, type S3Server, type S3ServerOptions, type ServerFault } from "@marin/rigging/testing";
