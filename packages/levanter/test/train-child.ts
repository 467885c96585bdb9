// A training run in a process of its own, for tests that kill it: node --conditions=@marin/source --import tsx train-child.ts <run> <tokens> <threads>
// Prints "start <step>" (of the first step's predecessor) and "step <step>" lines; its hook leaves a line in <run>/exports.txt for every 7th step.
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { Trainer, TokenStore, gpt2 } from "../src/index.js";
import { KILL_TEST_MIXTURE, KILL_TEST_MODEL, KILL_TEST_RUN } from "./kill-and-resume.js";

const [directory = "", tokens = "", threads = "1"] = process.argv.slice(2);
let started = false;
const config = { ...KILL_TEST_RUN, threads: Number(threads), temporaryCheckpointDirectory: join(directory, "temporary") };
const trainer = new Trainer(config).addHook(({ step }) => appendFile(join(directory, "exports.txt"), `${String(step)}\n`), { every: 7, name: "export" });
await trainer.train({
  model: gpt2(KILL_TEST_MODEL),
  tokens: { ...KILL_TEST_MIXTURE, stores: { plain: await TokenStore.open(join(tokens, "plain")), other: await TokenStore.open(join(tokens, "other")) } },
  directory,
  onStep: ({ step }) => {
    if (!started) console.log(`start ${String(step - 1)}`);
    started = true;
    console.log(`step ${String(step)}`);
  },
});
