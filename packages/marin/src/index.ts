export { evaluateBaselines, type Baseline, type BaselineOptions } from "./evaluation/baselines.js";
export { KneserNeyModel } from "./evaluation/kneser-ney.js";
export { TokenUnigram } from "./evaluation/token-unigram.js";
export { collectDocuments, type CollectedDocuments, type CollectOptions } from "./processing/collect-documents.js";
export type { CollectedSource } from "./processing/collect-shard.js";
export { builtinSource, type TextSource } from "./processing/corpus/list-source.js";
export { connectedComponents, type ConnectedComponents, type ConnectedComponentsOptions, type ComponentLabel, type GraphEdge } from "./processing/components/connected-components.js";
export { decontaminateDocuments, type DecontaminatedDocuments, type DecontaminateOptions } from "./processing/decontamination/decontaminate-documents.js";
export { dedupDocuments, type DedupedDocuments, type DedupOptions } from "./processing/dedup-documents.js";
export type { DocumentCounts } from "./processing/dedup-shard.js";
export { documentId, normalizeText, type Document } from "./processing/corpus/document.js";
export { readDocuments } from "./processing/documents-file.js";
export type { ProcessingOptions, ProcessingProgress } from "./processing/progress.js";
export { sourceFingerprint } from "./processing/source-fingerprint.js";
export { splitOf, type Split, type SplitRule } from "./processing/split-rule.js";
export { tokenizeDocuments, type TokenizeOptions } from "./processing/tokenize-documents.js";
export { tokenCacheWriter, type TokenCacheSummary, type TokenizedDocuments } from "./processing/tokenize-shard.js";
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
export { decontaminateOptions, decontaminateStep, type DecontaminateConfig, type DecontaminateResult } from "./steps/decontaminate.js";
export { dedupOptions, dedupStep, documentsPath, type DedupResult } from "./steps/dedup.js";
export { documentsOptions, documentsStep, type DocumentsConfig, type DocumentsResult } from "./steps/documents.js";
export { baselinesStep, evaluateStep, type BaselinesResult, type EvaluateResult } from "./steps/evaluate.js";
export type { Counts, ReportInputs, SourceCounts, TokenCounts } from "./report/inputs.js";
export { reportOptions, reportStep, type ReportResult } from "./steps/report.js";
export { sampleOptions, sampleStep, type SampleConfig, type SampleResult } from "./steps/sample.js";
export { tokenizerOptions, tokenizerPath, tokenizerStep, type TokenizerResult } from "./steps/tokenizer.js";
export { tokensPath, tokensStep, type TokensConfig, type TokensResult } from "./steps/tokens.js";
export type { TrainedExperiment } from "./steps/train-experiment.js";
export { InferenceController, type InferenceEndpoint, type InferenceOptions, type InferenceSettings } from "./inference/iris.js";
export { locateModel, type LocatedModel, type Place } from "./inference/locate-model.js";
export { scoreDataset, type DatasetPlace, type ScoreDatasetOptions, type ScoreSummary } from "./inference/score-dataset.js";
export type { InferenceCompute, ModelLocation } from "./inference/served-model.js";
export { modelOptions, trainedModel, trainOptions, trainStep, type TrainConfig, type TrainedModel } from "./steps/train.js";
