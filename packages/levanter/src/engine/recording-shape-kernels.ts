import * as tf from "@tensorflow/tfjs-core";
import {
  emitCast, emitFill, emitGather, emitIntegers, emitReshape, emitTranspose, first, get, spec, splitEqually, type Call, type Kernels,
} from "./recording-emit.js";
import { elementCount } from "./shape.js";

interface StridedSliceAttributes {
  readonly begin: number[];
  readonly end: number[];
  readonly strides: number[];
  readonly beginMask: number;
  readonly endMask: number;
  readonly ellipsisMask: number;
  readonly newAxisMask: number;
  readonly shrinkAxisMask: number;
}

/** Kernels that move, repeat, join and make elements without computing with them. */
export const SHAPE_KERNELS: Kernels = {
  Identity: ({ inputs, backend }) => backend.wrap(backend.traced(first(inputs))),
  Reshape: ({ inputs, attrs, backend }: Call<{ shape: number[] }>) => {
    const x = first(inputs);
    return emitReshape(backend, x, tf.util.inferFromImplicitShape(attrs.shape, elementCount(x.shape)));
  },
  ExpandDims: ({ inputs, attrs, backend }: Call<{ dim: number }>) => {
    const x = first(inputs);
    const shape = x.shape.slice();
    shape.splice(attrs.dim < 0 ? x.shape.length + attrs.dim + 1 : attrs.dim, 0, 1);
    return emitReshape(backend, x, shape);
  },
  Cast: ({ inputs, attrs, backend }: Call<{ dtype: tf.DataType }>) => emitCast(backend, first(inputs), attrs.dtype),
  Transpose: ({ inputs, attrs, backend }: Call<{ perm: number[] }>) => emitTranspose(backend, first(inputs), attrs.perm),
  Slice: ({ inputs, attrs, backend }: Call<{ begin: number | number[]; size: number | number[] }>) => {
    const x = get(inputs, "x");
    const [begin = [], size = []] = tf.slice_util.parseSliceParams(x, attrs.begin, attrs.size);
    return backend.emit("slice", [x], { begin }, spec(size, x.dtype));
  },
  Concat: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const all = Object.values(inputs);
    const parts = all.filter((part) => elementCount(part.shape) > 0);
    const head = parts[0] ?? first(inputs);
    const axis = tf.util.parseAxisParam(attrs.axis, head.shape)[0] as number;
    if (parts.length === 0) return emitFill(backend, tf.backend_util.computeOutShape(all.map((part) => part.shape), axis), head.dtype, 0);
    const shape = tf.backend_util.computeOutShape(parts.map((part) => part.shape), axis);
    return parts.length === 1 ? backend.wrap(backend.traced(head)) : backend.emit("concat", parts, { axis }, spec(shape, head.dtype));
  },
  Pack: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const parts = Object.values(inputs);
    const head = first(inputs);
    const axis = attrs.axis < 0 ? attrs.axis + head.shape.length + 1 : attrs.axis;
    const expanded = head.shape.slice();
    expanded.splice(axis, 0, 1);
    const shape = expanded.slice();
    shape[axis] = parts.length;
    return backend.emit("concat", parts.map((part) => emitReshape(backend, part, expanded)), { axis }, spec(shape, head.dtype));
  },
  Unpack: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const x = first(inputs);
    const axis = attrs.axis < 0 ? attrs.axis + x.shape.length : attrs.axis;
    const shape = x.shape.filter((_dimension, index) => index !== axis);
    return splitEqually(backend, x, axis, x.shape[axis] as number).map((part) => emitReshape(backend, part, shape));
  },
  SplitV: ({ inputs, attrs, backend }: Call<{ numOrSizeSplits: number | number[]; axis: number }>) => {
    const x = first(inputs);
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    const sizes = tf.backend_util.prepareSplitSize(x, attrs.numOrSizeSplits, axis);
    if (sizes.every((size) => size === sizes[0])) return splitEqually(backend, x, axis, sizes.length);
    let start = 0;
    return sizes.map((size) => {
      const begin = x.shape.map((_dimension, index) => (index === axis ? start : 0));
      start += size;
      return backend.emit("slice", [x], { begin }, spec(x.shape.map((dimension, index) => (index === axis ? size : dimension)), x.dtype));
    });
  },
  PadV2: ({ inputs, attrs, backend }: Call<{ paddings: [number, number][]; constantValue: number }>) => {
    const x = get(inputs, "x");
    const shape = x.shape.map((dimension, axis) => dimension + (attrs.paddings[axis]?.[0] ?? 0) + (attrs.paddings[axis]?.[1] ?? 0));
    const attributes = { before: attrs.paddings.map((pair) => pair[0]), after: attrs.paddings.map((pair) => pair[1]), value: attrs.constantValue };
    return backend.emit("pad", [x], attributes, spec(shape, x.dtype));
  },
  Tile: ({ inputs, attrs, backend }: Call<{ reps: number[] }>) => {
    const x = first(inputs);
    return backend.emit("tile", [x], { repeats: attrs.reps }, spec(x.shape.map((dimension, axis) => dimension * (attrs.reps[axis] as number)), x.dtype));
  },
  Reverse: ({ inputs, attrs, backend }: Call<{ dims: number | number[] }>) => {
    const x = first(inputs);
    return backend.emit("reverse", [x], { axes: tf.util.parseAxisParam(attrs.dims, x.shape) }, spec(x.shape, x.dtype));
  },
  Fill: ({ attrs, backend }: Call<{ shape: number[]; value: number; dtype?: tf.DataType }>) =>
    emitFill(backend, attrs.shape, attrs.dtype ?? "float32", attrs.value),
  ZerosLike: ({ inputs, backend }) => emitFill(backend, first(inputs).shape, first(inputs).dtype, 0),
  OnesLike: ({ inputs, backend }) => emitFill(backend, first(inputs).shape, first(inputs).dtype, 1),
  Range: ({ attrs, backend }: Call<{ start: number; stop: number; step: number; dtype: tf.DataType }>) => {
    const length = Math.max(0, Math.ceil((attrs.stop - attrs.start) / attrs.step));
    const values = Array.from({ length }, (_unused, index) => attrs.start + index * attrs.step);
    return { dataId: backend.write(values as unknown as tf.BackendValues, [length], attrs.dtype), shape: [length], dtype: attrs.dtype };
  },
  LinSpace: ({ attrs: { start, stop, num }, backend }: Call<{ start: number; stop: number; num: number }>) => {
    const step = num > 1 ? (stop - start) / (num - 1) : 0;
    return { dataId: backend.write(Float32Array.from({ length: num }, (_unused, index) => start + index * step), [num], "float32"), shape: [num], dtype: "float32" };
  },
  MirrorPad: ({ inputs, attrs, backend }: Call<{ paddings: [number, number][]; mode: "reflect" | "symmetric" }>) => {
    const edge = attrs.mode === "reflect" ? 0 : 1;
    return attrs.paddings.reduce((x, [before, after], axis) => {
      const length = x.shape[axis] as number;
      if (before === 0 && after === 0) return x;
      // Before the start and past the end, the places run back the way they came; "symmetric" takes the outermost one twice.
      const places = Array.from({ length: before + length + after }, (_unused, at) => {
        const place = at - before;
        if (place < 0) return -place - edge;
        return place < length ? place : 2 * (length - 1) - place + edge;
      });
      return emitGather(backend, x, emitIntegers(backend, places), axis);
    }, backend.wrap(backend.traced(get(inputs, "x"))));
  },
  StridedSlice: ({ inputs, attrs, backend }: Call<StridedSliceAttributes>) => {
    const x = get(inputs, "x");
    const { begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask } = attrs;
    const info = tf.slice_util.sliceInfo(x.shape, begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask);
    if (info.isIdentity) return emitReshape(backend, x, info.finalShape);
    const taken = tf.slice_util.computeOutShape(info.begin, info.end, info.strides);
    return emitReshape(backend, backend.emit("stridedSlice", [x], { begin: info.begin, strides: info.strides }, spec(taken, x.dtype)), info.finalShape);
  },
};
