"""Llama written from its published definition, for reference values: RMS norms, rotary positions, grouped queries, SwiGLU, no biases.

Parameters carry Hugging Face's names and layouts (weights [out, in]). Shapes: B batch, T time, D model, H heads of queries, G heads of keys and values, K head size, V vocabulary.
"""

import math

import torch
import torch.nn.functional as F

EPSILON = 1e-5


def parameter_shapes(shape):
    width, inner = shape["width"], shape["intermediate"]
    narrow = width // shape["heads"] * shape["keyValueHeads"]
    shapes = {"model.embed_tokens.weight": (shape["vocabulary"], width)}
    for layer in range(shape["layers"]):
        prefix = f"model.layers.{layer}."
        shapes[prefix + "input_layernorm.weight"] = (width,)
        shapes[prefix + "self_attn.q_proj.weight"] = (width, width)
        shapes[prefix + "self_attn.k_proj.weight"] = (narrow, width)
        shapes[prefix + "self_attn.v_proj.weight"] = (narrow, width)
        shapes[prefix + "self_attn.o_proj.weight"] = (width, width)
        shapes[prefix + "post_attention_layernorm.weight"] = (width,)
        shapes[prefix + "mlp.gate_proj.weight"] = (inner, width)
        shapes[prefix + "mlp.up_proj.weight"] = (inner, width)
        shapes[prefix + "mlp.down_proj.weight"] = (width, inner)
    shapes["model.norm.weight"] = (width,)
    if not shape["tied"]:
        shapes["lm_head.weight"] = (shape["vocabulary"], width)
    return shapes


def is_decayed(name, shape):
    return len(shape) == 2 and name != "model.embed_tokens.weight"


def inverse_frequencies(size, rope):
    """θ^(-2i/K) for i in 0..K/2-1; `linear` divides all of them, `llama3` those of long wavelengths, with a ramp between."""
    plain = rope["theta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    if rope["scaling"] == "default":
        return plain
    if rope["scaling"] == "linear":
        return plain / rope["factor"]
    length, low, high = rope["originalLength"], rope["lowFrequencyFactor"], rope["highFrequencyFactor"]
    wavelength = 2 * math.pi / plain
    ramp = (length / wavelength - low) / (high - low)
    between = (1 - ramp) * plain / rope["factor"] + ramp * plain
    return torch.where(wavelength > length / low, plain / rope["factor"], torch.where(wavelength < length / high, plain, between))


def rotate(x, angles):
    """x [B, H, T, K], angles [T, K/2]: elements i and i + K/2 form a complex number, multiplied by exp(i·angle)."""
    first, second = x.chunk(2, dim=-1)
    turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


def logits(p, tokens, shape, rope):
    """tokens [B, T] -> [B, T, V]"""
    heads, groups = shape["heads"], shape["keyValueHeads"]
    size = shape["width"] // heads
    length = tokens.shape[1]
    dtype = p["model.norm.weight"].dtype
    angles = torch.outer(torch.arange(length, dtype=torch.float64), inverse_frequencies(size, rope)).to(dtype)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)

    def norm(x, name):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * p[name + ".weight"]

    def split(x, count):
        return x.unflatten(-1, (count, size)).transpose(1, 2)

    x = p["model.embed_tokens.weight"][tokens]
    for layer in range(shape["layers"]):
        name = f"model.layers.{layer}."
        hidden = norm(x, name + "input_layernorm")
        q = rotate(split(F.linear(hidden, p[name + "self_attn.q_proj.weight"]), heads), angles)
        k = rotate(split(F.linear(hidden, p[name + "self_attn.k_proj.weight"]), groups), angles)
        v = split(F.linear(hidden, p[name + "self_attn.v_proj.weight"]), groups)
        k, v = (part.repeat_interleave(heads // groups, dim=1) for part in (k, v))
        scores = (q @ k.mT / math.sqrt(size)).masked_fill(future, float("-inf"))
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
        x = x + F.linear(mixed, p[name + "self_attn.o_proj.weight"])
        hidden = norm(x, name + "post_attention_layernorm")
        gate, up = F.linear(hidden, p[name + "mlp.gate_proj.weight"]), F.linear(hidden, p[name + "mlp.up_proj.weight"])
        x = x + F.linear(F.silu(gate) * up, p[name + "mlp.down_proj.weight"])
    head = p["model.embed_tokens.weight"] if shape["tied"] else p["lm_head.weight"]
    return F.linear(norm(x, "model.norm"), head)


def loss_sum(p, tokens, targets, weights, shape, rope):
    """Σ weight · −ln p(target), in nats."""
    scores = logits(p, tokens, shape, rope).flatten(0, 1)
    return (F.cross_entropy(scores, targets.flatten(), reduction="none") * weights.flatten()).sum()
