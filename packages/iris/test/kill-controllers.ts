import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gone, processesWith } from "./processes.js";

const script = fileURLToPath(new URL("./fixtures/controller.ts", import.meta.url));

/**
 * Starts the controller of `fixtures/controller.ts`, kills it after a while, and waits until no process that descends from it is left.
 *
 * @param afterMs - when to kill it: anywhere between its start and the quiet running of all its tasks
 * @returns milliseconds from the kill until nothing was left
 */
export async function killController(afterMs: number): Promise<number> {
  const mark = `MARIN_TEST_MARK=${randomUUID()}`;
  const [name = "", value] = mark.split("=");
  const controller = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], { stdio: "ignore", env: { ...process.env, [name]: value } });
  await once(controller, "spawn");
  await delay(afterMs);
  controller.kill("SIGKILL");
  const start = performance.now();
  // A process under way at the moment of the kill may still start another one: looked for until there is none twice in a row.
  for (let quiet = 0; quiet < 2; ) {
    const left = processesWith(mark);
    quiet = left.length === 0 ? quiet + 1 : 0;
    await gone(left, 5_000 - (performance.now() - start));
    await delay(20);
  }
  return performance.now() - start;
}
