"""Reference values of GPT-2 and of its training, computed in float64: writes gpt2.json, gpt2.bin and loss-curve.json.

`gpt2`: a small model with uneven loss weights: logits, loss, every gradient of the mean loss, and the weights after 20 steps of AdamW.
`loss-curve`: 50 steps of a larger model on the bytes of moby-dick.txt.
Initial weights and batches come from the hash in hashing.py, so only results are stored.
"""

import os

import numpy as np
import torch

import gpt2
from batches import doubles, initial_parameters, random_batch, text_batch
from fixtures import HERE, FixtureWriter, write_json
from training import reference_run, train, warmup_cosine

torch.set_num_threads(1)
ADAMW = {"beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weightDecay": 0.1}


def loss_of(shape):
    """The summed loss of a model of this shape, as `train` takes it."""
    return lambda p, tokens, targets, weights: gpt2.loss_sum(p, tokens, targets, weights, shape["layers"], shape["heads"])


def losses_of(p, batches, rates, shape, optimizer):
    """Trains `p` in place -> [(loss, gradient norm before clipping)]"""
    return list(train(p, batches, rates, loss_of(shape), gpt2.is_decayed, optimizer))


def small_model():
    shape = {"vocabulary": 97, "length": 16, "width": 32, "layers": 2, "heads": 4, "batch": 4}
    # Clipping at 1.8 acts in some of the 20 steps and not in the others.
    optimizer = {**ADAMW, "clipNorm": 1.8}
    weight_seed, batch_seed, steps = 1000, 5000, 20
    shapes = gpt2.parameter_shapes(shape["vocabulary"], shape["length"], shape["width"], shape["layers"])
    initial = initial_parameters(shapes, weight_seed)
    batches = [random_batch(batch_seed + 3 * step, shape["vocabulary"], shape["batch"], shape["length"]) for step in range(steps)]
    rates = warmup_cosine(1e-3, 4, steps, 0.1)
    writer = FixtureWriter()

    fields, p = reference_run(
        writer, initial, batches, rates, lambda p, tokens: gpt2.logits(p, tokens, shape["layers"], shape["heads"]), loss_of(shape), gpt2.is_decayed, optimizer
    )
    index = {"generator": f"make_gpt2.py, PyTorch {torch.__version__}", "shape": shape, "weightSeed": weight_seed, "batchSeed": batch_seed, **fields}
    writer.write("gpt2", index)

    single = doubles(initial, torch.float32)
    losses_of(single, [(a, b, w.float()) for a, b, w in batches], rates, shape, optimizer)
    for name, value in single.items():
        worst = (value.double() - p[name]).abs()
        if name.endswith("c_attn.bias"):
            worst = torch.cat([worst[: shape["width"]], worst[2 * shape["width"] :]])
        if worst.max() > 2e-6:
            print(f"float32 PyTorch differs from float64 by {worst.max():.1e} in {name}")
    print("gradient norms", [round(norm, 2) for norm in index["gradientNorms"]])


def loss_curve():
    with open(os.path.join(HERE, "moby-dick.txt"), "rb") as file:
        text = np.frombuffer(file.read(), dtype=np.uint8)
    shape = {"vocabulary": 256, "length": 64, "width": 64, "layers": 4, "heads": 4, "batch": 8}
    optimizer = {**ADAMW, "clipNorm": 1.0}
    weight_seed, batch_seed, steps = 2000, 9000, 50
    shapes = gpt2.parameter_shapes(shape["vocabulary"], shape["length"], shape["width"], shape["layers"])
    initial = initial_parameters(shapes, weight_seed)
    batches = [text_batch(batch_seed + step, text, shape["batch"], shape["length"]) for step in range(steps)]
    rates = warmup_cosine(3e-3, 10, steps, 0.1)
    history = losses_of(doubles(initial), batches, rates, shape, optimizer)
    single = losses_of(doubles(initial, torch.float32), [(a, b, w.float()) for a, b, w in batches], rates, shape, optimizer)
    print("curve", [(round(loss, 3), round(norm, 2)) for loss, norm in history][::7], "float32 differs by", max(abs(a[0] - b[0]) for a, b in zip(history, single)))
    write_json(
        "loss-curve",
        {
            "generator": f"make_gpt2.py, PyTorch {torch.__version__}",
            "shape": shape,
            "weightSeed": weight_seed,
            "batchSeed": batch_seed,
            "optimizer": optimizer,
            "learningRates": rates,
            "losses": [loss for loss, _ in history],
        },
    )


small_model()
loss_curve()
