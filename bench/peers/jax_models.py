"""The benchmark's models in JAX. Shapes: B batch, T time, D model, H heads, G key/value heads, K head size, V vocabulary."""

import jax
import jax.numpy as jnp


def attend(q, k, v):
    """q [B, T, H, K], k and v [B, T, G, K] -> [B, T, H*K]"""
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return mixed.reshape(*mixed.shape[:2], -1)


def gpt2(p, shape, tokens):
    """tokens [B, T] -> logits [B, T, V]; Hugging Face's names, projections stored [in, out]."""

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scale = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + shape["epsilon"])
        return centred * scale * p[name + ".weight"] + p[name + ".bias"]

    def project(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    batch, length = tokens.shape
    x = p["wte.weight"][tokens] + p["wpe.weight"][:length]
    for layer in range(shape["layers"]):
        name = f"h.{layer}"
        joint = project(norm(x, name + ".ln_1"), name + ".attn.c_attn").reshape(batch, length, 3, shape["heads"], -1)
        x = x + project(attend(joint[:, :, 0], joint[:, :, 1], joint[:, :, 2]), name + ".attn.c_proj")
        x = x + project(jax.nn.gelu(project(norm(x, name + ".ln_2"), name + ".mlp.c_fc"), approximate=True), name + ".mlp.c_proj")
    return norm(x, "ln_f") @ p["wte.weight"].T


def llama(p, shape, tokens):
    """tokens [B, T] -> logits [B, T, V]; Hugging Face's names, projections stored [out, in]."""
    batch, length = tokens.shape
    size = shape["width"] // shape["heads"]
    angles = jnp.outer(jnp.arange(length), shape["ropeTheta"] ** (-jnp.arange(0, size, 2) / size))
    angles = jnp.concatenate([angles, angles], 1)[:, None, :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)

    def norm(x, name):
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + shape["epsilon"]) * p[name + ".weight"]

    def rotate(x):
        first, second = jnp.split(x, 2, -1)
        return x * cos + jnp.concatenate([-second, first], -1) * sin

    def project(x, name):
        return x @ p[name + "_proj.weight"].T

    x = p["model.embed_tokens.weight"][tokens]
    for layer in range(shape["layers"]):
        name = f"model.layers.{layer}"
        h = norm(x, name + ".input_layernorm")
        q, k, v = (
            project(h, f"{name}.self_attn.{part}").reshape(batch, length, count, size)
            for part, count in (("q", shape["heads"]), ("k", shape["keyValueHeads"]), ("v", shape["keyValueHeads"]))
        )
        x = x + project(attend(rotate(q), rotate(k), v), name + ".self_attn.o")
        h = norm(x, name + ".post_attention_layernorm")
        x = x + project(jax.nn.silu(project(h, name + ".mlp.gate")) * project(h, name + ".mlp.up"), name + ".mlp.down")
    head = p.get("lm_head.weight", p["model.embed_tokens.weight"])
    return norm(x, "model.norm") @ head.T


MODELS = {"gpt2": gpt2, "llama": llama}
