import { emitScatterAddRows, first, get, spec, type Call, type Kernels } from "./recording-emit.js";

/** Kernels of levanter's own operations (see `ops/`), beside tfjs's. */
export const NEURAL_KERNELS: Kernels = {
  Softmax: ({ inputs, backend }) => backend.emit("softmax", [first(inputs)], {}, spec(first(inputs).shape, "float32")),
  LogSoftmax: ({ inputs, backend }) => backend.emit("logSoftmax", [first(inputs)], {}, spec(first(inputs).shape, "float32")),
  LayerNorm: ({ inputs, attrs, backend }: Call<{ epsilon: number }>) => {
    const x = get(inputs, "x");
    const statistics = spec([...x.shape.slice(0, -1), 1], x.dtype);
    return backend.emitAll("layerNorm", [x, get(inputs, "gamma"), get(inputs, "beta")], { epsilon: attrs.epsilon }, [
      spec(x.shape, x.dtype), statistics, statistics,
    ]);
  },
  GatherPerRow: ({ inputs, backend }) => {
    const x = get(inputs, "x");
    return backend.emit("gatherPerRow", [x, get(inputs, "indices")], {}, spec(x.shape.slice(0, -1), x.dtype));
  },
  ScatterAddRows: ({ inputs, backend }) => emitScatterAddRows(backend, get(inputs, "base"), get(inputs, "indices"), get(inputs, "updates")),
};
