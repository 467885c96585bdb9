// Starts the engine on WebGPU and prints what comes of it as JSON, { description } or { code, message }:
// node --conditions=@marin/source --import tsx start-on-device.ts [precision]
import { isMarinError } from "@marin/iris";
import { selectEngine, type EngineSelection } from "../../src/engine/select.js";

try {
  const engine = await selectEngine({ device: "webgpu", precision: process.argv[2] as EngineSelection["precision"] });
  console.log(JSON.stringify({ description: engine.description }));
  await engine.dispose();
} catch (error) {
  if (!isMarinError(error)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
