"""GPT-2 written from its published definition, for reference values: pre-layer-norm, tanh GELU, epsilon 1e-5, tied output head.

Parameters carry Hugging Face's names and layouts (projections [in, out]). Shapes: B batch, T time, D model, H heads, K head size, V vocabulary.
"""

import math

import torch
import torch.nn.functional as F

from hashing import symmetric


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


def initial_parameters(shapes, seed):
    """Parameter number i takes hash seed `seed + i`: matrices in ±0.1, biases in ±0.05, layer-norm scales in 1 ± 0.2."""
    parameters = {}
    for index, (name, shape) in enumerate(shapes.items()):
        scale = 0.1 if len(shape) == 2 else 0.05 if name.endswith("bias") else 0.2
        values = torch.from_numpy(symmetric(seed + index, math.prod(shape), scale)).view(shape)
        if len(shape) == 1 and name.endswith("weight"):
            values = values + 1
        parameters[name] = values
    return parameters


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


def train(p, batches, rates, layers, heads, optimizer):
    """AdamW on the weighted mean loss, with global-norm clipping; yields (loss, gradient norm before clipping) and updates `p` in place."""
    decayed = [value for name, value in p.items() if is_decayed(name, value.shape)]
    others = [value for name, value in p.items() if not is_decayed(name, value.shape)]
    adamw = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": optimizer["weightDecay"]}, {"params": others, "weight_decay": 0.0}],
        lr=0.0,
        betas=(optimizer["beta1"], optimizer["beta2"]),
        eps=optimizer["epsilon"],
    )
    for (tokens, targets, weights), rate in zip(batches, rates):
        for group in adamw.param_groups:
            group["lr"] = rate
        adamw.zero_grad(set_to_none=True)
        loss = loss_sum(p, tokens, targets, weights, layers, heads) / weights.sum()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(p.values()), optimizer["clipNorm"])
        adamw.step()
        yield loss.item(), norm.item()


def warmup_cosine(peak, warmup, steps, minimum_ratio):
    """Rates of steps 0..steps-1: linear from 0 over `warmup` steps, then half a cosine down to peak * minimum_ratio."""
    rates = []
    for step in range(steps):
        if step < warmup:
            rates.append(peak * step / warmup)
        else:
            progress = (step - warmup) / (steps - warmup)
            rates.append(peak * (minimum_ratio + (1 - minimum_ratio) * 0.5 * (1 + math.cos(math.pi * progress))))
    return rates
