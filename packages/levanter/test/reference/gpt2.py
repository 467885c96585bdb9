"""GPT-2 written from its published definition, for reference values: pre-layer-norm, tanh GELU, epsilon 1e-5, tied output head.

Parameters carry Hugging Face's names and layouts (projections [in, out]). Shapes: B batch, T time, D model, H heads, K head size, V vocabulary.
"""

import math

import torch
import torch.nn.functional as F


def parameter_shapes(vocabulary, length, width, layers):
    shapes = {"wte.weight": (vocabulary, width), "wpe.weight": (length, width)}
    for layer in range(layers):
        prefix = f"h.{layer}."
        shapes[prefix + "ln_1.weight"] = (width,)
        shapes[prefix + "ln_1.bias"] = (width,)
        shapes[prefix + "attn.c_attn.weight"] = (width, 3 * width)
        shapes[prefix + "attn.c_attn.bias"] = (3 * width,)
        shapes[prefix + "attn.c_proj.weight"] = (width, width)
        shapes[prefix + "attn.c_proj.bias"] = (width,)
        shapes[prefix + "ln_2.weight"] = (width,)
        shapes[prefix + "ln_2.bias"] = (width,)
        shapes[prefix + "mlp.c_fc.weight"] = (width, 4 * width)
        shapes[prefix + "mlp.c_fc.bias"] = (4 * width,)
        shapes[prefix + "mlp.c_proj.weight"] = (4 * width, width)
        shapes[prefix + "mlp.c_proj.bias"] = (width,)
    shapes["ln_f.weight"] = (width,)
    shapes["ln_f.bias"] = (width,)
    return shapes


def is_decayed(name, shape):
    return len(shape) == 2 and name not in ("wte.weight", "wpe.weight")


def logits(p, tokens, layers, heads):
    """tokens [B, T] -> [B, T, V]"""
    length, width = tokens.shape[1], p["wte.weight"].shape[1]
    size = width // heads
    future = torch.ones(length, length, dtype=torch.bool).triu(1)

    def norm(x, name):
        return F.layer_norm(x, (width,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def split(x):
        return x.unflatten(-1, (heads, size)).transpose(1, 2)

    x = p["wte.weight"][tokens] + p["wpe.weight"][:length]
    for layer in range(layers):
        name = f"h.{layer}."
        qkv = norm(x, name + "ln_1") @ p[name + "attn.c_attn.weight"] + p[name + "attn.c_attn.bias"]
        q, k, v = (split(part) for part in qkv.split(width, dim=-1))
        scores = (q @ k.mT / math.sqrt(size)).masked_fill(future, float("-inf"))
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
        x = x + mixed @ p[name + "attn.c_proj.weight"] + p[name + "attn.c_proj.bias"]
        hidden = norm(x, name + "ln_2") @ p[name + "mlp.c_fc.weight"] + p[name + "mlp.c_fc.bias"]
        x = x + F.gelu(hidden, approximate="tanh") @ p[name + "mlp.c_proj.weight"] + p[name + "mlp.c_proj.bias"]
    return norm(x, "ln_f") @ p["wte.weight"].t()


def loss_sum(p, tokens, targets, weights, layers, heads):
    """Σ weight · −ln p(target), in nats."""
    scores = logits(p, tokens, layers, heads).flatten(0, 1)
    return (F.cross_entropy(scores, targets.flatten(), reduction="none") * weights.flatten()).sum()
