"""Reference values and gradients of the operations that levanter's models use: writes ops.json and ops.bin.

A case holds named inputs, attributes, outputs, an upstream gradient for each output and the resulting gradient of each
floating-point input. Operations and attributes carry the names of @tensorflow/tfjs-core, or of levanter's own operations.
Inputs stay away from ties and kinks where frameworks define the gradient differently (maximum of equals, abs at 0).
Products with a broadcast batch, maximum, minimum and squaredDifference of unequal shapes have no gradients here: tfjs defines none.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

from fixtures import FixtureWriter

rng = np.random.default_rng(20260101)
writer = FixtureWriter()
cases = []


def normal(*shape, scale=1.0):
    return rng.normal(0, scale, size=shape).astype(np.float32)


def positive(*shape):
    return rng.uniform(0.2, 3.0, size=shape).astype(np.float32)


def apart(*shape):
    """Distinct values at least 0.05 apart, none within 0.02 of 0, in random order."""
    count = int(np.prod(shape))
    values = (np.arange(count) - count // 2) * 0.05 + 0.024
    return rng.permutation(values).reshape(shape).astype(np.float32)


def integers(high, *shape):
    return rng.integers(0, high, size=shape).astype(np.int32)


def zipf(high, *shape):
    """Indices as natural text has them: a few repeat very often."""
    weights = 1 / np.arange(1, high + 1)
    return rng.choice(high, size=shape, p=weights / weights.sum()).astype(np.int32)


def case(name, op, inputs, fn, gradients=True, without_gradient=(), **attributes):
    tensors = {}
    for key, array in inputs.items():
        tensor = torch.from_numpy(np.array(array))
        if array.dtype == np.float32:
            tensor = tensor.double().requires_grad_(gradients)
        elif array.dtype == np.int32:
            tensor = tensor.long()
        tensors[key] = tensor
    outputs = fn(*tensors.values())
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    entry = {
        "name": name,
        "op": op,
        "attributes": attributes,
        "inputs": {key: writer.add(array) for key, array in inputs.items()},
        "outputs": [writer.add(output) for output in outputs],
    }
    if gradients:
        upstream = [normal(*output.shape) for output in outputs]
        total = sum((output * torch.from_numpy(np.array(dy)).double()).sum() for output, dy in zip(outputs, upstream))
        wanted = {key: tensor for key, tensor in tensors.items() if tensor.is_floating_point() and key not in without_gradient}
        found = torch.autograd.grad(total, list(wanted.values()))
        entry["upstream"] = [writer.add(dy) for dy in upstream]
        entry["gradients"] = {key: writer.add(gradient) for key, gradient in zip(wanted, found)}
    cases.append(entry)


# Matrix products: every pair of flags, plain, batched, with a broadcast batch, and degenerate sizes.
def matmul(transposeA, transposeB):
    return lambda a, b: (a.mT if transposeA else a) @ (b.mT if transposeB else b)


for transpose_a in (False, True):
    for transpose_b in (False, True):
        flags = f"{'t' if transpose_a else 'n'}{'t' if transpose_b else 'n'}"
        for label, batch_a, batch_b in (("2d", (), ()), ("3d", (3,), (3,)), ("4d", (2, 3), (2, 3)), ("broadcast", (1,), (3,))):
            a = normal(*batch_a, *((4, 5) if transpose_a else (5, 4)))
            b = normal(*batch_b, *((6, 4) if transpose_b else (4, 6)))
            case(
                f"matMul {label} {flags}", "matMul", {"a": a, "b": b}, matmul(transpose_a, transpose_b),
                gradients=label != "broadcast", transposeA=transpose_a, transposeB=transpose_b,
            )
case("matMul of a row and a column", "matMul", {"a": normal(1, 7), "b": normal(7, 1)}, matmul(False, False), transposeA=False, transposeB=False)
case("matMul of a column and a row", "matMul", {"a": normal(7, 1), "b": normal(1, 3)}, matmul(False, False), transposeA=False, transposeB=False)

# Arithmetic with broadcasting.
arithmetic = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "squaredDifference": lambda a, b: (a - b) ** 2,
}
shapes = [((3, 4), (3, 4)), ((3, 4), ()), ((), (3, 4)), ((2, 3, 4), (4,)), ((4,), (2, 3, 4)), ((2, 3, 1), (1, 4)), ((2, 1, 4), (2, 3, 1)), ((1,), (1,)), ((), ())]
for op, fn in arithmetic.items():
    for shape_a, shape_b in shapes:
        b = positive(*shape_b) if op == "div" else normal(*shape_b)
        differentiable = op != "squaredDifference" or shape_a == shape_b
        case(f"{op} {list(shape_a)} {list(shape_b)}", op, {"a": normal(*shape_a), "b": b}, fn, gradients=differentiable)
for op, fn in {"maximum": torch.maximum, "minimum": torch.minimum}.items():
    for shape_a, shape_b in (((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((3, 1), (1, 4)), ((3, 4), ())):
        pool = apart(int(np.prod(shape_a)) + int(np.prod(shape_b)))
        a, b = pool[: int(np.prod(shape_a))].reshape(shape_a), pool[int(np.prod(shape_a)) :].reshape(shape_b)
        case(f"{op} {list(shape_a)} {list(shape_b)}", op, {"a": a, "b": b}, fn, gradients=shape_a == shape_b)
for shape_a, shape_b in (((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((3, 4), ())):
    case(f"pow {list(shape_a)} {list(shape_b)}", "pow", {"a": positive(*shape_a), "b": normal(*shape_b)}, torch.pow)

# Functions of one value: a matrix, a scalar, and the far ends.
unary = {
    "neg": (torch.neg, normal, [-1e6, 0, 1e6]),
    "exp": (torch.exp, normal, [-100, -20, 0, 10, 80]),
    "log": (torch.log, positive, [1e-20, 1e-3, 1, 1e20]),
    "sqrt": (torch.sqrt, positive, [1e-12, 1, 1e12]),
    "rsqrt": (torch.rsqrt, positive, [1e-10, 1, 1e10]),
    "reciprocal": (torch.reciprocal, positive, [-2, 1e-6, 1e6]),
    "square": (torch.square, normal, [-1e3, 0, 1e3]),
    "tanh": (torch.tanh, normal, [-50, -9, 0, 9, 50]),
    "sigmoid": (torch.sigmoid, normal, [-80, -15, 0, 15, 80]),
    "erf": (torch.erf, normal, [-6, -1, 0, 1, 6]),
    "relu": (torch.relu, normal, [-3, 0, 3]),
    "abs": (torch.abs, apart, [-1e6, 1e6]),
    "sin": (torch.sin, normal, [-10, 0, 10]),
    "cos": (torch.cos, normal, [-10, 0, 10]),
    "softplus": (F.softplus, normal, [-50, -15, 0, 15, 50]),
    "floor": (torch.floor, apart, [-2.5, -1, 1e6]),
    "ceil": (torch.ceil, apart, [-2.5, -1, 1e6]),
    "round": (torch.round, apart, [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),
    "sign": (torch.sign, apart, [-1e6, 1e6]),
    "geluTanh": (lambda x: F.gelu(x, approximate="tanh"), normal, [-20, -6, -1, 0, 1, 6, 20]),
    "geluErf": (lambda x: F.gelu(x), normal, [-20, -6, -1, 0, 1, 6, 20]),
}
for op, (fn, draw, ends) in unary.items():
    case(f"{op} matrix", op, {"x": draw(5, 7)}, fn)
    case(f"{op} scalar", op, {"x": draw(1).reshape(())}, fn)
    case(f"{op} far ends", op, {"x": np.array(ends, dtype=np.float32)}, fn)
case("clipByValue", "clipByValue", {"x": np.concatenate([apart(30), np.array([-0.5, 0.25], np.float32)])}, lambda x: x.clamp(-0.5, 0.25), clipValueMin=-0.5, clipValueMax=0.25)
case("leakyRelu", "leakyRelu", {"x": apart(4, 5)}, lambda x: F.leaky_relu(x, 0.2), alpha=0.2)
case("step", "step", {"x": np.array([-2, -0.1, 0, 0.1, 3], np.float32)}, lambda x: torch.where(x > 0, 1.0, 0.25), gradients=False, alpha=0.25)
case("isNaN", "isNaN", {"x": np.array([1, np.nan, np.inf, -np.inf, 0], np.float32)}, torch.isnan, gradients=False)

# Reductions.
reductions = {
    "sum": lambda axis, keep: lambda x: x.sum(axis, keepdim=keep),
    "mean": lambda axis, keep: lambda x: x.mean(axis, keepdim=keep),
    "max": lambda axis, keep: lambda x: x.amax(axis, keepdim=keep),
    "min": lambda axis, keep: lambda x: x.amin(axis, keepdim=keep),
}
for op, make in reductions.items():
    for axis in ([0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]):
        for keep in (False, True):
            draw = apart if op in ("max", "min") else normal
            case(f"{op} axes {axis}{' kept' if keep else ''}", op, {"x": draw(3, 4, 5)}, make(tuple(axis), keep), axis=axis, keepDims=keep)
    draw = apart if op in ("max", "min") else normal
    case(f"{op} of one element", op, {"x": draw(1, 1)}, make((0, 1), False), axis=[0, 1], keepDims=False)
for axis in (0, 1, 2):
    case(f"argMax axis {axis}", "argMax", {"x": apart(3, 4, 5)}, lambda x, axis=axis: x.argmax(axis), gradients=False, axis=axis)
case("sum of 4096 values", "sum", {"x": positive(1, 4096)}, lambda x: x.sum(1), axis=[1], keepDims=False)

# Shapes.
for shape, target in (((2, 3, 4), (6, 4)), ((2, 3, 4), (24,)), ((6,), (1, 2, 3)), ((1, 1), ())):
    case(f"reshape {list(shape)} to {list(target)}", "reshape", {"x": normal(*shape)}, lambda x, t=target: x.reshape(t), shape=list(target))
for perm in ([1, 0], [0, 2, 1], [2, 0, 1], [2, 1, 0], [0, 2, 1, 3], [2, 0, 3, 1]):
    shape = (2, 3, 4, 5)[: len(perm)]
    case(f"transpose {perm}", "transpose", {"x": normal(*shape)}, lambda x, p=perm: x.permute(*p), perm=perm)
for begin, size in (([0, 0, 0], [2, 2, 2]), ([1, 2, 1], [2, 1, 3]), ([2, 0, 3], [1, 4, 2]), ([0, 0, 0], [3, 4, 5])):
    window = tuple(slice(b, b + s) for b, s in zip(begin, size))
    case(f"slice {begin} {size}", "slice", {"x": normal(3, 4, 5)}, lambda x, w=window: x[w], begin=begin, size=size)
for axes in ([0], [1], [0, 2]):
    case(f"reverse axes {axes}", "reverse", {"x": normal(3, 4, 2)}, lambda x, axes=axes: x.flip(axes), axis=axes)
for sizes, axis in (([2, 2, 2], 1), ([1, 2, 3], 1), ([3, 1], 0)):
    case(f"split {sizes} axis {axis}", "split", {"x": normal(4, 6)}, lambda x, s=sizes, a=axis: x.split(s, a), sizes=sizes, axis=axis)
for axis in (0, 1, 2):
    parts = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
    parts[1][axis], parts[2][axis] = 1, 5
    inputs = {key: normal(*part) for key, part in zip("abc", parts)}
    case(f"concat axis {axis}", "concat", inputs, lambda a, b, c, axis=axis: torch.cat([a, b, c], axis), axis=axis)
for paddings, value in (([[1, 2], [0, 3]], 0), ([[0, 0], [2, 0]], -1.5), ([[0, 0], [0, 0]], 0)):
    flat = [n for pair in reversed(paddings) for n in pair]
    case(f"pad {paddings} {value}", "pad", {"x": normal(3, 4)}, lambda x, f=flat, v=value: F.pad(x, f, value=v), paddings=paddings, constantValue=value)
for reps in ([2, 3], [1, 4], [3, 1], [1, 1]):
    case(f"tile {reps}", "tile", {"x": normal(3, 4)}, lambda x, r=reps: x.repeat(*r), reps=reps)
for shape, target in (((4,), (3, 4)), ((3, 1), (3, 4)), ((), (2, 3)), ((1, 3, 1), (2, 3, 4))):
    case(f"broadcastTo {list(shape)} to {list(target)}", "broadcastTo", {"x": normal(*shape)}, lambda x, t=target: x.broadcast_to(t), shape=list(target))
for axis in (0, 1, 2):
    case(f"stack axis {axis}", "stack", {key: normal(3, 4) for key in "abc"}, lambda a, b, c, axis=axis: torch.stack([a, b, c], axis), axis=axis)
for axis in (0, 1, 2):
    case(f"unstack axis {axis}", "unstack", {"x": normal(3, 4, 2)}, lambda x, axis=axis: x.unbind(axis), axis=axis)

# Choosing.
case("gather rows, Zipf indices", "gather", {"x": normal(29, 6), "indices": zipf(29, 5, 16)}, lambda x, indices: x[indices], axis=0)
case("gather one row many times", "gather", {"x": normal(5, 3), "indices": np.full(40, 2, np.int32)}, lambda x, indices: x[indices], axis=0)
case("gather columns", "gather", {"x": normal(4, 9), "indices": zipf(9, 12)}, lambda x, indices: x[:, indices], axis=1)
case("embedding, Zipf indices", "embedding", {"table": normal(31, 8), "indices": zipf(31, 128)}, lambda table, indices: table[indices])
case(
    "unsortedSegmentSum, Zipf segments", "unsortedSegmentSum", {"x": normal(40, 3), "segmentIds": zipf(7, 40)},
    lambda x, segmentIds: torch.zeros(9, 3, dtype=x.dtype).index_add(0, segmentIds, x), numSegments=9,
)
case("oneHot", "oneHot", {"indices": integers(7, 3, 5)}, lambda indices: F.one_hot(indices, 7).double(), gradients=False, depth=7)
case("where", "where", {"condition": rng.random((3, 4)) < 0.5, "a": normal(3, 4), "b": normal(3, 4)}, lambda condition, a, b: torch.where(condition, a, b))
case("where, broadcast", "where", {"condition": rng.random((3, 1)) < 0.5, "a": normal(3, 4), "b": normal(3, 4)}, lambda condition, a, b: torch.where(condition, a, b))
comparisons = {"equal": torch.eq, "notEqual": torch.ne, "greater": torch.gt, "greaterEqual": torch.ge, "less": torch.lt, "lessEqual": torch.le}
for op, fn in comparisons.items():
    case(f"{op} float32", op, {"a": integers(4, 3, 5).astype(np.float32), "b": integers(4, 5).astype(np.float32)}, fn, gradients=False)
    case(f"{op} int32", op, {"a": integers(4, 3, 5), "b": integers(4, 3, 1)}, fn, gradients=False)
case("logicalAnd", "logicalAnd", {"a": rng.random((3, 4)) < 0.5, "b": rng.random((3, 4)) < 0.5}, torch.logical_and, gradients=False)
case("logicalOr", "logicalOr", {"a": rng.random((3, 4)) < 0.5, "b": rng.random((3, 4)) < 0.5}, torch.logical_or, gradients=False)
case("logicalNot", "logicalNot", {"x": rng.random((3, 4)) < 0.5}, torch.logical_not, gradients=False)
case("cast float32 to int32", "cast", {"x": np.array([-2.7, -1, -0.2, 0, 0.9, 3.5, 1e6], np.float32)}, lambda x: x.int(), gradients=False, dtype="int32")
case("cast int32 to float32", "cast", {"x": np.array([-7, 0, 12345678], np.int32)}, lambda x: x.double(), gradients=False, dtype="float32")
case("cast bool to float32", "cast", {"x": np.array([True, False, True])}, lambda x: x.double(), gradients=False, dtype="float32")
for exclusive in (False, True):
    for reverse in (False, True):
        def cumsum(x, exclusive=exclusive, reverse=reverse):
            y = x.flip(1) if reverse else x
            y = y.cumsum(1) - (y if exclusive else 0)
            return y.flip(1) if reverse else y
        label = f"cumsum{' exclusive' if exclusive else ''}{' reversed' if reverse else ''}"
        case(label, "cumsum", {"x": normal(3, 6)}, cumsum, axis=1, exclusive=exclusive, reverse=reverse)

# Composed operations.
for op, fn in {"softmax": lambda x: torch.softmax(x, -1), "logSoftmax": lambda x: torch.log_softmax(x, -1)}.items():
    case(f"{op} rows", op, {"x": normal(6, 9)}, fn)
    case(f"{op} of three axes", op, {"x": normal(2, 3, 5)}, fn)
    case(f"{op} large values", op, {"x": normal(4, 8, scale=40)}, fn)
    case(f"{op} one column", op, {"x": normal(3, 1)}, fn)
for label, scale, shift in (("", 1, 0), (", far from 0", 1, 30), (", tiny variance", 1e-3, 0)):
    inputs = {"x": normal(10, 12, scale=scale) + np.float32(shift), "gamma": 1 + normal(12, scale=0.3), "beta": normal(12, scale=0.3)}
    case(f"layerNorm{label}", "layerNorm", inputs, lambda x, gamma, beta: F.layer_norm(x, (12,), gamma, beta, 1e-5), epsilon=1e-5)
case("linear", "linear", {"x": normal(7, 5), "weight": normal(5, 6), "bias": normal(6)}, lambda x, weight, bias: x @ weight + bias)
case("linear without bias", "linear", {"x": normal(3, 5), "weight": normal(5, 4)}, lambda x, weight: x @ weight)


def attention(q, k, v):
    """q, k, v [B, H, T, K] -> [B, H, T, K]; position t sees 0..t."""
    length = q.shape[-2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, float("-inf")), -1) @ v


for label, shape, scale in (("", (2, 3, 7, 4), 1), (", sharp", (1, 2, 9, 8), 4), (", one position", (2, 1, 1, 4), 1)):
    inputs = {key: normal(*shape, scale=scale) for key in "qkv"}
    case(f"causalAttention{label}", "causalAttention", inputs, attention)


def linear_cross_entropy(hidden, table, targets, weights):
    """Sum over positions of weight * -log softmax(hidden tableᵀ)[target], in nats."""
    return (F.cross_entropy(hidden @ table.t(), targets, reduction="none") * weights).sum()


inputs = {"hidden": normal(24, 6), "table": normal(17, 6), "targets": zipf(17, 24), "weights": (integers(4, 24) / 2).astype(np.float32)}
case("linearCrossEntropy, uneven weights", "linearCrossEntropy", inputs, linear_cross_entropy, without_gradient=("weights",))
inputs = {"hidden": normal(8, 6, scale=6), "table": normal(11, 6, scale=4), "targets": zipf(11, 8), "weights": np.ones(8, np.float32)}
case("linearCrossEntropy, large logits", "linearCrossEntropy", inputs, linear_cross_entropy, without_gradient=("weights",))
inputs = {"hidden": normal(5, 6), "table": normal(11, 6), "targets": zipf(11, 5), "weights": np.zeros(5, np.float32)}
case("linearCrossEntropy, nothing weighted", "linearCrossEntropy", inputs, linear_cross_entropy, without_gradient=("weights",))

assert len({entry["name"] for entry in cases}) == len(cases)
writer.write("ops", {"generator": f"make_ops.py, PyTorch {torch.__version__}", "cases": cases})
