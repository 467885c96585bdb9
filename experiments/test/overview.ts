/** The program of the overview, unchanged: it must type-check as it stands. */
import { JobScheduler, type Job, type JobPlan } from "@marin/iris";
import { Trainer } from "@marin/levanter";
import { Config, Experiment } from "@marin/marin";

const cfg = new Config({ model: "gpt2-small", optimizer: "adamw", dataset: "openwebtext", batchSize: 128 });
const trainer = new Trainer(cfg);
const scheduler = new JobScheduler({ cluster: "tpu-v4" });
const experiment = new Experiment({ name: "gpt2_small_demo", trainer });

/** What would happen. */
export const plan = (): Promise<JobPlan> => scheduler.plan(experiment);

/** Its last line. */
export const submit = (): Promise<Job> => scheduler.submit(experiment);

/** The same experiment on this machine. */
export const submitLocally = (): Promise<Job> => new JobScheduler({ cluster: "local" }).submit(experiment);
