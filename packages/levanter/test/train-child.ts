// A training run in a process of its own, for tests that kill it: node --conditions=@marin/source --import tsx train-child.ts <run> <tokens> <threads>
// Prints "start <step>" (of the first step's predecessor) and "step <step>" lines.
import { Trainer, TokenStore, gpt2 } from "../src/index.js";
import { KILL_TEST_MODEL, KILL_TEST_RUN } from "./kill-and-resume.js";

const [directory = "", tokens = "", threads = "1"] = process.argv.slice(2);
let started = false;
const trainer = new Trainer({ ...KILL_TEST_RUN, threads: Number(threads) });
await trainer.train({
  model: gpt2(KILL_TEST_MODEL),
  tokens: await TokenStore.open(tokens),
  directory,
  onStep: ({ step }) => {
    if (!started) console.log(`start ${String(step - 1)}`);
    started = true;
    console.log(`step ${String(step)}`);
  },
});
