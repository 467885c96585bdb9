/** A training from raw text to a model in ten lines: a program of its own, run by `pnpm experiment ten-lines`. */
import { JobScheduler } from "@marin/iris";
import { Trainer } from "@marin/levanter";
import { Config, Experiment } from "@marin/marin";

const cfg = new Config({ model: "gpt2-nano", optimizer: "adamw", dataset: import.meta.resolve("./ten-lines-texts"), batchSize: 8, steps: 200 });
const trainer = new Trainer(cfg);
const scheduler = new JobScheduler({ cluster: "local" });
const experiment = new Experiment({ name: "ten-lines", trainer });
const job = await scheduler.submit(experiment);

const { state, value, error } = await job.wait();
console.log(state, error?.message ?? value);
