import protobuf from "protobufjs";
import type { DType } from "../types.js";

/** Builds serialized ONNX models of a few nodes for tests of the runtimes, independently of levanter's own lowering. */

type Writer = ReturnType<typeof protobuf.Writer.create>;
type Fields = (writer: Writer) => void;

const elementTypes: Readonly<Record<DType, number>> = { float32: 1, int32: 6, bool: 9 };

/** An input or output: names and extents, a string extent being symbolic. */
export interface TinyValue {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly (number | string)[];
}

/** A node of the standard operator set. */
export interface TinyNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Integer attributes by name. */
  readonly attributes?: Readonly<Record<string, number>>;
}

function message(writer: Writer, field: number, fields: Fields): void {
  writer.uint32((field << 3) | 2).fork();
  fields(writer);
  writer.ldelim();
}

function text(writer: Writer, field: number, value: string): void {
  writer.uint32((field << 3) | 2).string(value);
}

function integer(writer: Writer, field: number, value: number): void {
  writer.uint32(field << 3).int64(value);
}

function writeValue(writer: Writer, field: number, value: TinyValue): void {
  message(writer, field, (info) => {
    text(info, 1, value.name);
    message(info, 2, (type) => {
      message(type, 1, (tensor) => {
        integer(tensor, 1, elementTypes[value.dtype]);
        message(tensor, 2, (shape) => {
          for (const extent of value.shape) {
            message(shape, 1, (dim) => {
              if (typeof extent === "string") text(dim, 2, extent);
              else integer(dim, 1, extent);
            });
          }
        });
      });
    });
  });
}

function writeNode(writer: Writer, node: TinyNode): void {
  message(writer, 1, (fields) => {
    for (const name of node.inputs) text(fields, 1, name);
    for (const name of node.outputs) text(fields, 2, name);
    text(fields, 4, node.op);
    for (const [name, value] of Object.entries(node.attributes ?? {})) {
      message(fields, 5, (attribute) => {
        text(attribute, 1, name);
        integer(attribute, 3, value);
        integer(attribute, 20, 2);
      });
    }
  });
}

/** Serializes a model of operator set 17. */
export function tinyModel(inputs: readonly TinyValue[], outputs: readonly TinyValue[], nodes: readonly TinyNode[]): Uint8Array {
  const writer = protobuf.Writer.create();
  integer(writer, 1, 8);
  message(writer, 7, (graph) => {
    for (const node of nodes) writeNode(graph, node);
    text(graph, 2, "tiny");
    for (const value of inputs) writeValue(graph, 11, value);
    for (const value of outputs) writeValue(graph, 12, value);
  });
  message(writer, 8, (opset) => {
    text(opset, 1, "");
    integer(opset, 2, 17);
  });
  return writer.finish();
}
