// Writes the checkpoint of a step in a process of its own, which kills itself: node --conditions=@marin/source --import tsx checkpoint-child.ts <directory> <step> <operations>
// Once so many file operations have succeeded, the next one, of whichever thread, ends the process.
import { Checkpointer } from "../src/checkpoint/checkpointer.js";
import { withFault } from "./faulty-files.js";
import { hostState } from "./host-state.js";

const [directory = "", step = "1", after = "0"] = process.argv.slice(2);
const checkpointer = await Checkpointer.open({ directory, keepPermanent: 1, maxFileBytes: 24, identity: {}, engine: { fingerprint: "engine 1" } });
const { operations, error } = await withFault({ after: Number(after), mode: "kill" }, async () => {
  await checkpointer.afterStep({ step: Number(step), groups: hostState(Number(step)).groups, state: null }, { force: true });
  await checkpointer.settle();
});
if (error !== undefined) throw error as Error;
console.log(`finished after ${String(operations)} operations`);
