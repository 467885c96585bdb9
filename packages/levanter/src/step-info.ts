/** What is known after a step. */
export interface StepInfo {
  /** The step just finished, from 1. */
  readonly step: number;
  /** Steps of the whole run. */
  readonly steps: number;
  /** Mean loss of the step's batch before its update, in nats per token. */
  readonly loss: number;
  /** Learning rate of the step's update. */
  readonly learningRate: number;
  /** Global norm of the step's gradient before clipping. */
  readonly gradientNorm: number;
  /** True where the step was bad and changed nothing: its update was skipped (`skipBadSteps`). */
  readonly skipped: boolean;
  /** Tokens computed on so far, over all restarts; the padding of short last windows counts. */
  readonly tokens: number;
  /** Speed over the last steps, validation and checkpoints not counted; NaN for the step that a run goes on from. */
  readonly tokensPerSecond: number;
  /** Time that the remaining steps will take at this speed, in seconds; NaN as above. */
  readonly secondsLeft: number;
}
