import type { DType, EngineName } from "../types.js";

/** What `Program.explain` should find out. */
export interface ExplainOptions {
  /**
   * Also measure where time goes: the program runs a few times, on the inputs of its latest run (zeros where there was none), into memory of its own; on
   * one CPU thread per operator as the engine has it. The compiled engine on the CPU measures; elsewhere there are no times. Default: false.
   */
  readonly profile?: boolean;
}

/** One operation of a program. */
export interface NodeExplanation {
  /** What it computes: an operation of the graph, or the name of an operator made by `defineOperator`. */
  readonly op: string;
  /** Shapes of what it reads. */
  readonly inputs: readonly (readonly number[])[];
  /** Shape of its first output. */
  readonly shape: readonly number[];
  /** Element type of its first output. */
  readonly dtype: DType;
  /** Floating-point operations: 2·M·N·K for a product, one for each element and arithmetic step otherwise; exponentials, roots and the like count as one. */
  readonly flops: number;
  /** Bytes read and written when every tensor comes from memory and goes there once. Only the rows that a lookup takes count. */
  readonly bytes: number;
  /** Mean time of one run, in milliseconds, where it was measured. `undefined` where the runtime has merged the operation into another or computed it beforehand. */
  readonly milliseconds: number | undefined;
}

/** All operations of one kind. */
export interface OperationSummary {
  readonly op: string;
  /** How many there are. */
  readonly count: number;
  readonly flops: number;
  readonly bytes: number;
  readonly milliseconds: number | undefined;
}

/** What the runtime made of operations, under a name that leads back to none of them. */
export interface FusedNode {
  /** The runtime's name for it. */
  readonly name: string;
  /** The runtime's operator. */
  readonly operator: string;
  readonly milliseconds: number;
}

/** What a program consists of. */
export interface ProgramExplanation {
  readonly name: string;
  readonly engine: EngineName;
  /** Every operation, in the order in which they run. */
  readonly nodes: readonly NodeExplanation[];
  /** The same by kind, by time or else by FLOPs, the largest first. */
  readonly operations: readonly OperationSummary[];
  readonly totals: {
    readonly flops: number;
    readonly bytes: number;
    /** Time of all operations, fused ones included. */
    readonly milliseconds: number | undefined;
    /** Time of a whole run, measured around it. */
    readonly runMilliseconds: number | undefined;
    /** The most bytes of intermediate tensors held at once in this order, inputs and outputs of the program left out; the runtime's memory pool may be larger. */
    readonly heldBytes: number;
  };
  /** Empty where times were not measured. */
  readonly fused: readonly FusedNode[];
  /** Of a program on a device: operators that its provider left to the CPU, as `OneHot x 2`. */
  readonly leftToCpu?: readonly string[];
}
