export { evaluateBaselines, type Baseline, type BaselineOptions } from "./evaluation/baselines.js";
export { KneserNeyModel } from "./evaluation/kneser-ney.js";
export { TokenUnigram } from "./evaluation/token-unigram.js";
export {
  builtinSource,
  collectDocuments,
  type CollectedDocuments,
  type CollectOptions,
  type CollectSummary,
  type GroupCounts,
} from "./processing/collect-documents.js";
export type { Document } from "./processing/corpus/document.js";
export { readDocuments } from "./processing/documents-file.js";
export type { ProcessingOptions, ProcessingProgress } from "./processing/progress.js";
export { sourceFingerprint } from "./processing/source-fingerprint.js";
export { splitDocuments, splitOf, type Split, type SplitOptions, type SplitPart, type SplitRule } from "./processing/split-documents.js";
export { tokenizeDocuments, type TokenizedDocuments, type TokenizeOptions } from "./processing/tokenize-documents.js";
export { loadTokenizer, type Tokenizer } from "./processing/tokenizer/tokenizer.js";
export { trainTokenizer, type TrainedTokenizer, type TrainTokenizerOptions } from "./processing/tokenizer/train-tokenizer.js";
export type {
  ErrorEvent,
  ExperimentEvent,
  JobEvent,
  MessageEvent,
  MetricsEvent,
  OutputEvent,
  PlanEvent,
  ProgressEvent,
  ResultEvent,
  RunStartedEvent,
  StepFinishedEvent,
  StepPlan,
  StepStartedEvent,
} from "./events.js";
export { defineExperiment, type ExperimentDefinition, type ExperimentOptions } from "./experiment-definition.js";
export { withPresets } from "./options/presets.js";
export { resolveOptions } from "./options/resolve.js";
export { Config, Experiment, type ConfigInput, type ExperimentFields } from "./experiment.js";
export { planExperiment, runExperiment, type RunOptions, type RunSelection } from "./run-experiment.js";
export type { RunPlace } from "./choose-runner.js";
export type { RunRecord, StepRecord } from "./run-record.js";
export {
  defineStep,
  type Artifact,
  type IdentityContext,
  type Step,
  type StepContext,
  type StepDefinition,
  type StepMaker,
  type StepProgress,
  type StepResources,
} from "./step.js";
export type { ComputeConfig } from "./steps/compute.js";
export { documentsOptions, documentsPath, documentsStep, type DocumentsConfig, type DocumentsResult } from "./steps/documents.js";
export { baselinesStep, evaluateStep, type BaselinesResult, type EvaluateResult } from "./steps/evaluate.js";
export type { Counts, ReportInputs, SourceCounts, TokenCounts } from "./report/inputs.js";
export { reportOptions, reportStep, type ReportResult } from "./steps/report.js";
export { sampleOptions, sampleStep, type SampleConfig, type SampleResult } from "./steps/sample.js";
export { tokenizerOptions, tokenizerPath, tokenizerStep, type TokenizerResult } from "./steps/tokenizer.js";
export { tokensPath, tokensStep, type TokensResult } from "./steps/tokens.js";
export type { TrainedExperiment } from "./steps/train-experiment.js";
export { InferenceController, type InferenceEndpoint, type InferenceOptions, type InferenceSettings } from "./inference/iris.js";
export { locateModel, type LocatedModel, type Place } from "./inference/locate-model.js";
export { scoreDataset, type DatasetPlace, type ScoreDatasetOptions, type ScoreSummary } from "./inference/score-dataset.js";
export type { InferenceCompute, ModelLocation } from "./inference/served-model.js";
export { modelOptions, trainedModel, trainOptions, trainStep, type TrainConfig, type TrainedModel } from "./steps/train.js";
