/** A program with workers, run by tests: the first argument says what it does, the second names its workers. */
import { entry, FrayWorker } from "@marin/fray";
import type * as work from "./work.js";

const module = new URL("./work.ts", import.meta.url);
const tag = process.argv[3] ?? "child";
const worker = await FrayWorker.start({ kind: "process", name: tag, detached: true });
if (process.argv[2] === "nest") {
  await worker.call(entry<typeof work.nest>(module, "nest"), [2, tag]);
} else if (process.argv[2] === "leave-child") {
  await worker.call(entry<typeof work.leaveChild>(module, "leaveChild"), []);
} else {
  console.log(await worker.call(entry<typeof work.add>(module, "add"), [20, 22]));
  await worker.stop();
}
