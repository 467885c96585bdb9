import protobuf from "protobufjs";
import { createHash } from "node:crypto";
import { MarinError } from "@marin/iris";
import { MAX_CONSTANT_BYTES } from "../recording-backend.js";
import type { DType, TensorData } from "../types.js";

/** ONNX's numbers for element types. */
export const ONNX_TYPE = { float32: 1, int32: 6, int64: 7, bool: 9 } as const;

/** Attributes of an ONNX node. Integers and floats are told apart by the wrapper. */
export type OnnxAttribute = { readonly int: number } | { readonly float: number } | { readonly text: string } | { readonly ints: readonly number[] } | { readonly scalar: number; readonly dtype: DType };

/** The ONNX operator set that models are written for, and the IR version that goes with it. */
const OPSET = 21;
const IR_VERSION = 10;

// The part of ONNX's onnx.proto that models use, in protobuf.js's JSON form; field numbers are ONNX's.
const SCHEMA = {
  nested: {
    ModelProto: {
      fields: {
        irVersion: { type: "int64", id: 1 }, producerName: { type: "string", id: 2 }, graph: { type: "GraphProto", id: 7 },
        opsetImport: { rule: "repeated", type: "OperatorSetIdProto", id: 8 },
      },
    },
    OperatorSetIdProto: { fields: { domain: { type: "string", id: 1 }, version: { type: "int64", id: 2 } } },
    GraphProto: {
      fields: {
        node: { rule: "repeated", type: "NodeProto", id: 1 }, name: { type: "string", id: 2 },
        initializer: { rule: "repeated", type: "TensorProto", id: 5 }, input: { rule: "repeated", type: "ValueInfoProto", id: 11 },
        output: { rule: "repeated", type: "ValueInfoProto", id: 12 }, valueInfo: { rule: "repeated", type: "ValueInfoProto", id: 13 },
      },
    },
    NodeProto: {
      fields: {
        input: { rule: "repeated", type: "string", id: 1 }, output: { rule: "repeated", type: "string", id: 2 }, name: { type: "string", id: 3 },
        opType: { type: "string", id: 4 }, attribute: { rule: "repeated", type: "AttributeProto", id: 5 }, domain: { type: "string", id: 7 },
      },
    },
    AttributeProto: {
      fields: {
        name: { type: "string", id: 1 }, f: { type: "float", id: 2 }, i: { type: "int64", id: 3 }, s: { type: "bytes", id: 4 },
        t: { type: "TensorProto", id: 5 }, ints: { rule: "repeated", type: "int64", id: 8 }, type: { type: "int32", id: 20 },
      },
    },
    TensorProto: {
      fields: {
        dims: { rule: "repeated", type: "int64", id: 1 }, dataType: { type: "int32", id: 2 }, name: { type: "string", id: 8 },
        rawData: { type: "bytes", id: 9 },
      },
    },
    ValueInfoProto: { fields: { name: { type: "string", id: 1 }, type: { type: "TypeProto", id: 2 } } },
    TypeProto: { fields: { tensorType: { type: "TypeProtoTensor", id: 1 } } },
    TypeProtoTensor: { fields: { elemType: { type: "int32", id: 1 }, shape: { type: "TensorShapeProto", id: 2 } } },
    TensorShapeProto: { fields: { dim: { rule: "repeated", type: "Dimension", id: 1 } } },
    Dimension: { fields: { dimValue: { type: "int64", id: 1 }, dimParam: { type: "string", id: 2 } } },
  },
} as const;

const ModelProto = protobuf.Root.fromJSON(SCHEMA).lookupType("ModelProto");

interface TensorProto {
  readonly name?: string;
  readonly dims: readonly number[];
  readonly dataType: number;
  readonly rawData: Uint8Array;
}

interface NodeProto {
  readonly input: string[];
  readonly output: string[];
  readonly name: string;
  readonly opType: string;
  readonly attribute: readonly object[];
  readonly domain: string;
}

/** Collects nodes, constants, inputs and outputs, and writes them as the bytes of an ONNX model. Equal constants are stored once. */
export class OnnxModel {
  readonly #name: string;
  readonly #nodes: NodeProto[] = [];
  readonly #initializers: TensorProto[] = [];
  readonly #constants = new Map<string, string>();
  readonly #inputs: object[] = [];
  readonly #outputs: object[] = [];
  readonly #inner: object[] = [];
  #names = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Number of nodes so far. */
  get nodeCount(): number {
    return this.#nodes.length;
  }

  /** A name that nothing else in the model has. */
  freshName(): string {
    return `#${this.#names++}`;
  }

  /** Declares an input; a dimension given as text is symbolic. */
  input(name: string, dtype: DType, shape: readonly (number | string)[]): void {
    this.#inputs.push(valueInfo(name, dtype, shape));
  }

  /** Declares an output. */
  output(name: string, dtype: DType, shape: readonly (number | string)[]): void {
    this.#outputs.push(valueInfo(name, dtype, shape));
  }

  /**
   * Adds a node that writes the values named in `outputs`. The domain "" is ONNX's own; `scope` goes before the node's own name.
   *
   * @throws `LEVANTER_UNSAFE_OPERATOR` for a `ScatterND` that reduces: ONNX Runtime's loses updates when several threads run it
   */
  node(opType: string, inputs: readonly string[], outputs: readonly string[], attributes: Readonly<Record<string, OnnxAttribute>> = {}, domain = "", scope = ""): void {
    if (opType === "ScatterND" && "reduction" in attributes) {
      throw new MarinError("LEVANTER_UNSAFE_OPERATOR", `"${this.#name}" lowers to ScatterND with a reduction, which loses updates; use ScatterElements`, {
        data: { program: this.#name },
      });
    }
    const attribute = Object.entries(attributes).map(([name, value]) => attributeProto(name, value));
    const name = `${scope === "" ? "" : `${scope}/`}${opType}_${this.#nodes.length}`;
    this.#nodes.push({ input: [...inputs], output: [...outputs], name, opType, attribute, domain });
  }

  /** Adds a node of ONNX's own domain with one output, and returns the output's name. */
  value(opType: string, inputs: readonly string[], attributes: Readonly<Record<string, OnnxAttribute>> = {}): string {
    const name = this.freshName();
    this.node(opType, inputs, [name], attributes);
    return name;
  }

  /** Calls a value by another name in all nodes so far. False when no node writes it: it is an input or a constant, and keeps its name. */
  rename(from: string, to: string): boolean {
    if (!this.#nodes.some((node) => node.output.includes(from))) return false;
    for (const names of this.#nodes.flatMap((node) => [node.input, node.output])) {
      names.forEach((name, index) => {
        if (name === from) names[index] = to;
      });
    }
    return true;
  }

  /** States type and shape of a value inside the graph; the runtime refuses the model where a node gives another. */
  inner(name: string, dtype: DType, shape: readonly number[]): void {
    this.#inner.push(valueInfo(name, dtype, shape));
  }

  /** Adds a constant and returns its name. */
  constant(data: TensorData, dtype: DType, shape: readonly number[]): string {
    return this.#initializer({ dims: shape, dataType: ONNX_TYPE[dtype], rawData: bytesOf(data) });
  }

  /** Adds a constant of rank 0 and returns its name. */
  scalar(value: number, dtype: DType): string {
    return this.constant(scalarData(value, dtype), dtype, []);
  }

  /** Adds an int64 vector, as ONNX wants shapes and axes, and returns its name. */
  int64(values: readonly number[]): string {
    return this.#initializer({ dims: [values.length], dataType: ONNX_TYPE.int64, rawData: bytesOf(BigInt64Array.from(values, BigInt)) });
  }

  /** The model's bytes. */
  encode(): Uint8Array {
    return ModelProto.encode({
      irVersion: IR_VERSION,
      producerName: "marin-levanter",
      graph: { name: this.#name, node: this.#nodes, initializer: this.#initializers, input: this.#inputs, output: this.#outputs, valueInfo: this.#inner },
      opsetImport: [{ domain: "", version: OPSET }, { domain: "com.microsoft", version: 1 }],
    }).finish();
  }

  #initializer(tensor: TensorProto): string {
    if (tensor.rawData.byteLength > MAX_CONSTANT_BYTES) {
      throw new MarinError("LEVANTER_LARGE_CONSTANT", `"${this.#name}" holds a constant of ${tensor.rawData.byteLength} bytes; the limit is ${MAX_CONSTANT_BYTES}`, {
        data: { program: this.#name, bytes: tensor.rawData.byteLength, limit: MAX_CONSTANT_BYTES },
      });
    }
    const key = `${tensor.dataType}[${tensor.dims.join(",")}]${createHash("sha256").update(tensor.rawData).digest("hex")}`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.freshName();
    this.#initializers.push({ ...tensor, name });
    this.#constants.set(key, name);
    return name;
  }
}

function bytesOf(data: TensorData | BigInt64Array): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function scalarData(value: number, dtype: DType): TensorData {
  if (dtype === "float32") return Float32Array.of(value);
  return dtype === "int32" ? Int32Array.of(value) : Uint8Array.of(value);
}

function valueInfo(name: string, dtype: DType, shape: readonly (number | string)[]): object {
  const dim = shape.map((dimension) => (typeof dimension === "number" ? { dimValue: dimension } : { dimParam: dimension }));
  return { name, type: { tensorType: { elemType: ONNX_TYPE[dtype], shape: { dim } } } };
}

function attributeProto(name: string, value: OnnxAttribute): object {
  if ("int" in value) return { name, i: value.int, type: 2 };
  if ("float" in value) return { name, f: value.float, type: 1 };
  if ("text" in value) return { name, s: new TextEncoder().encode(value.text), type: 3 };
  if ("ints" in value) return { name, ints: value.ints, type: 7 };
  return { name, t: { dims: [1], dataType: ONNX_TYPE[value.dtype], rawData: bytesOf(scalarData(value.scalar, value.dtype)) }, type: 4 };
}
