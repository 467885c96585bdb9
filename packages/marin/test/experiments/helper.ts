export const notAnExperiment = 1;
