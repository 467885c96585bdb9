"""JAX's side of `pnpm bench train`: one jitted step, state donated. Trains on what bench/train.ts wrote, prints one JSON line.

Usage: jax_train.py DIRECTORY --steps N --threads N
"""

import json
import os
import time

import workload

arguments = workload.arguments(__doc__)
# XLA takes its threads from the processors that the process may use.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

from jax_models import MODELS

setup, values, batches = workload.load(arguments.directory)
shape, optimizer = setup["shape"], setup["optimizer"]
logits_of = MODELS[shape["architecture"]]
decay = {entry["name"]: optimizer["weightDecay"] if entry["decayed"] else 0.0 for entry in setup["parameters"]}
beta1, beta2, rate = optimizer["beta1"], optimizer["beta2"], optimizer["learningRate"]


def loss_of(parameters, batch):
    tokens, targets = batch[:, :-1], batch[:, 1:]
    logits = logits_of(parameters, shape, tokens)
    right = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - right).mean()


def step(state, batch):
    """One AdamW step with clipping at the global norm: state in, state out."""
    parameters, first, second, count = state
    loss, gradients = jax.value_and_grad(loss_of)(parameters, batch)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in gradients.values()))
    clip = jnp.minimum(1.0, optimizer["clipNorm"] / (norm + 1e-6))
    count = count + 1
    correction1, correction2 = 1 - beta1**count, 1 - beta2**count
    for name, gradient in gradients.items():
        gradient = gradient * clip
        first[name] = beta1 * first[name] + (1 - beta1) * gradient
        second[name] = beta2 * second[name] + (1 - beta2) * jnp.square(gradient)
        change = (first[name] / correction1) / (jnp.sqrt(second[name] / correction2) + optimizer["epsilon"])
        parameters[name] = parameters[name] * (1 - rate * decay[name]) - rate * change
    return (parameters, first, second, count), loss


parameters = {name: jnp.asarray(value) for name, value in values.items()}
del values
state = (parameters, {n: jnp.zeros_like(p) for n, p in parameters.items()}, {n: jnp.zeros_like(p) for n, p in parameters.items()}, jnp.zeros((), jnp.float32))
batches = batches.astype("int32")
start = time.perf_counter()
compiled = jax.jit(step, donate_argnums=0).lower(state, batches[0]).compile()
compile_milliseconds = (time.perf_counter() - start) * 1000

losses, milliseconds = [], []
for index in range(arguments.steps):
    start = time.perf_counter()
    state, loss = compiled(state, batches[index % len(batches)])
    losses.append(float(loss))
    # The update may still be running when the loss is there.
    jax.block_until_ready(state)
    milliseconds.append((time.perf_counter() - start) * 1000)

print(
    json.dumps(
        {
            "version": f"JAX {jax.__version__}, jit",
            "threads": arguments.threads,
            "losses": losses,
            "stepMilliseconds": milliseconds,
            "compileMilliseconds": compile_milliseconds,
            "peakBytes": workload.peak_bytes(),
        }
    )
)
