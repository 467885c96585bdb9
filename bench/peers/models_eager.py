"""The benchmark's models in plain eager PyTorch, each in the best plain form that the installed PyTorch has.

Shapes: B batch, T time, N = B*T, D model, H heads, G key/value heads, K head size, V vocabulary. Both models are functions over a dictionary
of parameters, so that all sides of the comparison share one list of names and one set of initial values.
"""

import math

import torch
import torch.nn.functional as F

# Blockwise attention without a score matrix, from PyTorch 2.0 on.
fused_attention = getattr(F, "scaled_dot_product_attention", None)


class CausalModel:
    """What both models share: causal attention, loss."""

    def __init__(self, parameters, shape):
        self.parameters = parameters
        self.shape = shape
        # Added to the attention scores: 0 where a position may look, -inf where it may not. One tensor for all layers.
        self.mask = torch.full((shape["length"], shape["length"]), float("-inf")).triu(1)

    def attend(self, q, k, v):
        """q, k, v [B, H, T, K] -> [B*T, H*K]"""
        batch, heads, length, size = q.shape
        if fused_attention is not None:
            mixed = fused_attention(q, k, v, is_causal=True)
        else:
            q, k, v = (x.reshape(batch * heads, length, size) for x in (q, k, v))
            scores = torch.baddbmm(self.mask[:length, :length], q, k.transpose(1, 2), beta=1, alpha=1 / math.sqrt(size))
            mixed = torch.bmm(torch.softmax(scores, -1), v).view(batch, heads, length, size)
        return mixed.transpose(1, 2).reshape(batch * length, heads * size)

    def loss(self, tokens, targets):
        """Mean cross-entropy in nats over all positions."""
        return F.cross_entropy(self.logits(tokens), targets.reshape(-1))


class Gpt2(CausalModel):
    """Hugging Face's names and layouts: pre-layer-norm, tanh GELU, tied output head; projections stored [in, out] as its Conv1D does."""

    def norm(self, x, name):
        p = self.parameters
        return F.layer_norm(x, (x.shape[-1],), p[name + ".weight"], p[name + ".bias"], self.shape["epsilon"])

    def project(self, x, name):
        p = self.parameters
        return torch.addmm(p[name + ".bias"], x, p[name + ".weight"])

    def attention(self, x, name, batch, length):
        heads = self.shape["heads"]
        # [B*T, 3D] -> three tensors [B, H, T, K]
        q, k, v = self.project(x, name + ".c_attn").view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        return self.project(self.attend(q, k, v), name + ".c_proj")

    def logits(self, tokens):
        """tokens [B, T] -> logits [B*T, V]"""
        batch, length = tokens.shape
        p = self.parameters
        x = F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][:length]
        x = x.view(batch * length, -1)
        for layer in range(self.shape["layers"]):
            name = f"h.{layer}"
            x = x + self.attention(self.norm(x, name + ".ln_1"), name + ".attn", batch, length)
            hidden = F.gelu(self.project(self.norm(x, name + ".ln_2"), name + ".mlp.c_fc"), approximate="tanh")
            x = x + self.project(hidden, name + ".mlp.c_proj")
        return self.norm(x, "ln_f") @ p["wte.weight"].t()


class Llama(CausalModel):
    """Hugging Face's names and layouts: RMS norm, rotary positions (halves rotated), grouped queries, SwiGLU; projections stored [out, in]."""

    def __init__(self, parameters, shape):
        super().__init__(parameters, shape)
        size = shape["width"] // shape["heads"]
        frequencies = shape["ropeTheta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angles = torch.outer(torch.arange(shape["length"], dtype=torch.float64), frequencies)
        # [T, K], both halves alike.
        self.cos = torch.cat([angles, angles], 1).cos().float()
        self.sin = torch.cat([angles, angles], 1).sin().float()

    def norm(self, x, name):
        weight, epsilon = self.parameters[name + ".weight"], self.shape["epsilon"]
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, (x.shape[-1],), weight, epsilon)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * weight

    def rotate(self, x):
        """x [B, heads, T, K]"""
        first, second = x.chunk(2, -1)
        length = x.shape[2]
        return x * self.cos[:length] + torch.cat([-second, first], -1) * self.sin[:length]

    def attention(self, x, name, batch, length):
        p = self.parameters
        heads, groups = self.shape["heads"], self.shape["keyValueHeads"]
        by_head = lambda part, count: F.linear(x, p[f"{name}.{part}_proj.weight"]).view(batch, length, count, -1).transpose(1, 2)
        q, k, v = self.rotate(by_head("q", heads)), self.rotate(by_head("k", groups)), by_head("v", groups)
        if heads > groups:
            k, v = (t.repeat_interleave(heads // groups, 1) for t in (k, v))
        return F.linear(self.attend(q, k, v), p[f"{name}.o_proj.weight"])

    def logits(self, tokens):
        """tokens [B, T] -> logits [B*T, V]"""
        batch, length = tokens.shape
        p = self.parameters
        x = F.embedding(tokens, p["model.embed_tokens.weight"]).view(batch * length, -1)
        for layer in range(self.shape["layers"]):
            name = f"model.layers.{layer}"
            x = x + self.attention(self.norm(x, name + ".input_layernorm"), name + ".self_attn", batch, length)
            h = self.norm(x, name + ".post_attention_layernorm")
            gated = F.silu(F.linear(h, p[name + ".mlp.gate_proj.weight"])) * F.linear(h, p[name + ".mlp.up_proj.weight"])
            x = x + F.linear(gated, p[name + ".mlp.down_proj.weight"])
        head = p.get("lm_head.weight", p["model.embed_tokens.weight"])
        return F.linear(self.norm(x, "model.norm"), head)


MODELS = {"gpt2": Gpt2, "llama": Llama}
