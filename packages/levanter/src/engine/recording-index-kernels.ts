import * as tf from "@tensorflow/tfjs-core";
import type { RecordingBackend } from "./recording-backend.js";
import {
  emitBinary, emitCast, emitFill, emitGather, emitIntegers, emitReshape, emitScatterAddRows, emitTranspose, first, get, NUMBERS, requireDtype, spec, type Call, type Kernels,
} from "./recording-emit.js";
import { elementCount } from "./shape.js";

/** A gather whose leading axes belong together: the rows of all batches in one table, and indices into it. */
function gatherInBatches(backend: RecordingBackend, x: tf.TensorInfo, indices: tf.TensorInfo, axis: number, batchDims: number): tf.TensorInfo {
  const [batchShape, outerShape, innerShape] = [x.shape.slice(0, batchDims), x.shape.slice(batchDims, axis), x.shape.slice(axis + 1)];
  const [batches, outer, length, inner] = [elementCount(batchShape), elementCount(outerShape), x.shape[axis] as number, elementCount(innerShape)];
  const count = elementCount(indices.shape) / Math.max(1, batches);
  const rowsFirst = emitTranspose(backend, emitReshape(backend, x, [batches, outer, length, inner]), [0, 2, 1, 3]);
  const starts = emitReshape(backend, emitIntegers(backend, Array.from({ length: batches }, (_unused, batch) => batch * length)), [batches, 1]);
  const rows = emitBinary(backend, "add", emitReshape(backend, emitCast(backend, indices, "int32"), [batches, count]), starts);
  const picked = emitGather(backend, emitReshape(backend, rowsFirst, [batches * length, outer * inner]), emitReshape(backend, rows, [batches * count]), 0);
  const inOrder = emitTranspose(backend, emitReshape(backend, picked, [batches, count, outer, inner]), [0, 2, 1, 3]);
  return emitReshape(backend, inOrder, [...batchShape, ...outerShape, ...indices.shape.slice(batchDims), ...innerShape]);
}

/** Kernels that read and write at places given by indices. */
export const INDEX_KERNELS: Kernels = {
  GatherV2: ({ inputs, attrs, backend }: Call<{ axis: number; batchDims?: number }>) => {
    const [x, indices] = [get(inputs, "x"), get(inputs, "indices")];
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    return (attrs.batchDims ?? 0) === 0 ? emitGather(backend, x, indices, axis) : gatherInBatches(backend, x, indices, axis, attrs.batchDims as number);
  },
  GatherNd: ({ inputs, backend }) => {
    const [x, indices] = [get(inputs, "params"), get(inputs, "indices")];
    const depth = indices.shape.at(-1) as number;
    return backend.emit("gatherND", [x, emitCast(backend, indices, "int32")], {}, spec([...indices.shape.slice(0, -1), ...x.shape.slice(depth)], x.dtype));
  },
  ScatterNd: ({ inputs, attrs, backend }: Call<{ shape: number[] }>) => {
    const [indices, updates] = [get(inputs, "indices"), get(inputs, "updates")];
    requireDtype("scatterAddRows", updates, NUMBERS);
    const depth = indices.shape.at(-1) as number;
    const [rows, width] = [elementCount(attrs.shape.slice(0, depth)), elementCount(attrs.shape.slice(depth))];
    const count = elementCount(indices.shape.slice(0, -1));
    // Rows are counted through all indexed axes; equal rows add up in their order.
    const strides = Array.from({ length: depth }, (_unused, axis) => elementCount(attrs.shape.slice(axis + 1, depth)));
    const steps = emitBinary(backend, "mul", emitReshape(backend, emitCast(backend, indices, "int32"), [count, depth]), emitIntegers(backend, strides));
    const row = backend.emit("sum", [steps], { axes: [1], keepDims: false }, spec([count], "int32"));
    const summed = emitScatterAddRows(backend, emitFill(backend, [rows, width], updates.dtype, 0), row, emitReshape(backend, updates, [count, width]));
    return emitReshape(backend, summed, attrs.shape);
  },
  TopK: ({ inputs, attrs, backend }: Call<{ k: number }>) => {
    const x = first(inputs);
    requireDtype("topK", x, NUMBERS);
    const shape = [...x.shape.slice(0, -1), attrs.k];
    return backend.emitAll("topK", [x], { k: attrs.k }, [spec(shape, x.dtype), spec(shape, "int32")]);
  },
  UnsortedSegmentSum: ({ inputs, attrs, backend }: Call<{ numSegments: number }>) => {
    const [x, ids] = [get(inputs, "x"), get(inputs, "segmentIds")];
    const [rows, width] = [elementCount(ids.shape), elementCount(x.shape.slice(ids.shape.length))];
    // What belongs to no segment is dropped: it is added to one row more, which is cut off. ONNX would count negative ids from the end.
    const id = emitReshape(backend, emitCast(backend, ids, "int32"), [rows]);
    const bound = emitFill(backend, [], "int32", attrs.numSegments);
    const belongs = emitBinary(
      backend, "logicalAnd", emitBinary(backend, "greaterEqual", id, emitFill(backend, [], "int32", 0), "bool"), emitBinary(backend, "less", id, bound, "bool"), "bool",
    );
    const row = backend.emit("select", [belongs, id, bound], {}, spec([rows], "int32"));
    const summed = emitScatterAddRows(backend, emitFill(backend, [attrs.numSegments + 1, width], x.dtype, 0), row, emitReshape(backend, x, [rows, width]));
    const kept = backend.emit("slice", [summed], { begin: [0, 0] }, spec([attrs.numSegments, width], x.dtype));
    return emitReshape(backend, kept, [attrs.numSegments, ...x.shape.slice(ids.shape.length)]);
  },
  OneHot: ({ inputs, attrs, backend }: Call<{ depth: number; onValue: number; offValue: number; dtype: tf.DataType }>) => {
    const indices = get(inputs, "indices");
    const attributes = { depth: attrs.depth, onValue: attrs.onValue, offValue: attrs.offValue };
    const hot = backend.emit("oneHot", [emitCast(backend, indices, "int32")], attributes, spec([...indices.shape, attrs.depth], "float32"));
    return emitCast(backend, hot, attrs.dtype);
  },
};
