"""A GPT-2 of Hugging Face's names and layouts in plain eager PyTorch: pre-layer-norm, tanh GELU, tied output head.

Shapes: B batch, T time, D model, H heads, K head size, V vocabulary. Projections are stored [in, out] as Hugging Face's Conv1D does.
"""

import math

import torch
import torch.nn.functional as F


class Gpt2:
    """The model as a function over a dictionary of parameters, so that both sides of the comparison share one list of names."""

    def __init__(self, parameters, layers, heads, length):
        self.parameters = parameters
        self.layers = layers
        self.heads = heads
        # Added to the attention scores: 0 where a position may look, -inf where it may not. One tensor for all layers.
        self.mask = torch.full((length, length), float("-inf")).triu(1)
        self.positions = torch.arange(length)

    def norm(self, x, name):
        p = self.parameters
        return F.layer_norm(x, (x.shape[-1],), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def project(self, x, name):
        p = self.parameters
        return torch.addmm(p[name + ".bias"], x, p[name + ".weight"])

    def attention(self, x, name, batch, length):
        width = x.shape[-1]
        size = width // self.heads
        # [B*T, 3D] -> three tensors [B*H, T, K]
        qkv = self.project(x, name + ".c_attn").view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.reshape(3, batch * self.heads, length, size).unbind(0)
        scores = torch.baddbmm(self.mask[:length, :length], q, k.transpose(1, 2), beta=1, alpha=1 / math.sqrt(size))
        mixed = torch.bmm(torch.softmax(scores, -1), v)
        mixed = mixed.view(batch, self.heads, length, size).transpose(1, 2).reshape(batch * length, width)
        return self.project(mixed, name + ".c_proj")

    def logits(self, tokens):
        """tokens [B, T] -> logits [B*T, V]"""
        batch, length = tokens.shape
        p = self.parameters
        x = F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][:length]
        x = x.view(batch * length, -1)
        for layer in range(self.layers):
            name = f"h.{layer}"
            x = x + self.attention(self.norm(x, name + ".ln_1"), name + ".attn", batch, length)
            hidden = F.gelu(self.project(self.norm(x, name + ".ln_2"), name + ".mlp.c_fc"), approximate="tanh")
            x = x + self.project(hidden, name + ".mlp.c_proj")
        return self.norm(x, "ln_f") @ p["wte.weight"].t()

    def loss(self, tokens, targets):
        """Mean cross-entropy in nats over all positions."""
        return F.cross_entropy(self.logits(tokens), targets.reshape(-1))


def is_decayed(name, shape):
    """Weight decay acts on matrices only, and not on the embeddings."""
    return len(shape) == 2 and name not in ("wte.weight", "wpe.weight")
