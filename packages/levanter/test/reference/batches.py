"""Weights, batches and precision of the reference runs. TypeScript computes the same numbers in gpt2-runs.ts."""

import math

import numpy as np
import torch

from hashing import hash32, symmetric


def initial_parameters(shapes, seed):
    """Parameter number i takes hash seed `seed + i`: matrices in ±0.1, biases in ±0.05, norms' scales in 1 ± 0.2."""
    parameters = {}
    for index, (name, shape) in enumerate(shapes.items()):
        scale = 0.1 if len(shape) == 2 else 0.05 if name.endswith("bias") else 0.2
        values = torch.from_numpy(symmetric(seed + index, math.prod(shape), scale)).view(shape)
        if len(shape) == 1 and name.endswith("weight"):
            values = values + 1
        parameters[name] = values
    return parameters


def doubles(parameters, dtype=torch.float64):
    return {name: value.to(dtype).requires_grad_(True) for name, value in parameters.items()}


def random_batch(seed, vocabulary, batch, length):
    """Tokens: the smaller of two hashes mod V, so low ids are more frequent. Loss weights: hash mod 4, halved: 0, 0.5, 1 or 1.5."""
    count = batch * (length + 1)
    first, second = hash32(seed, count) % vocabulary, hash32(seed + 1, count) % vocabulary
    tokens = torch.from_numpy(np.minimum(first, second).astype(np.int64)).view(batch, length + 1)
    weights = torch.from_numpy((hash32(seed + 2, batch * length) % 4 / 2).astype(np.float64)).view(batch, length)
    return tokens[:, :-1], tokens[:, 1:], weights


def text_batch(seed, text, batch, length):
    """Windows of the text, their starts drawn by the hash. Every position weighs 1."""
    starts = (hash32(seed, batch) % (len(text) - length)).astype(int)
    tokens = torch.from_numpy(np.stack([text[start : start + length + 1] for start in starts]).astype(np.int64))
    return tokens[:, :-1], tokens[:, 1:], torch.ones(batch, length, dtype=torch.float64)
