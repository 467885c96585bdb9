"""Reference values of Llama and of its training, computed in float64: writes llama.json and llama.bin.

Three small models, with 1, 2 and 4 heads of keys and values for 4 of queries, and with each form of rotary scaling: logits, loss, every gradient of the
mean loss, and the weights after 20 steps of AdamW. Initial weights and batches come from the hash in hashing.py, so only results are stored.
"""

import torch

import llama
from batches import doubles, initial_parameters, random_batch
from fixtures import FixtureWriter
from training import reference_run, train, warmup_cosine

torch.set_num_threads(1)
STEPS = 20
# Clipping acts in some steps and not in others.
OPTIMIZER = {"beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weightDecay": 0.1, "clipNorm": 2.0}
ROPE = {"theta": 100.0, "factor": 4.0, "lowFrequencyFactor": 1.0, "highFrequencyFactor": 4.0, "originalLength": 32}


def run(writer, key_value_heads, tied, scaling, weight_seed, batch_seed):
    shape = {"vocabulary": 61, "length": 16, "width": 24, "intermediate": 40, "layers": 2, "heads": 4, "keyValueHeads": key_value_heads, "tied": tied, "batch": 2}
    rope = {**ROPE, "scaling": scaling}
    initial = initial_parameters(llama.parameter_shapes(shape), weight_seed)
    batches = [random_batch(batch_seed + 3 * step, shape["vocabulary"], shape["batch"], shape["length"]) for step in range(STEPS)]
    rates = warmup_cosine(1e-3, 4, STEPS, 0.1)

    def loss_sum(p, tokens, targets, weights):
        return llama.loss_sum(p, tokens, targets, weights, shape, rope)

    fields, p = reference_run(writer, initial, batches, rates, lambda p, tokens: llama.logits(p, tokens, shape, rope), loss_sum, llama.is_decayed, OPTIMIZER)
    index = {"shape": shape, "rope": rope, "weightSeed": weight_seed, "batchSeed": batch_seed, **fields}

    single = doubles(initial, torch.float32)
    list(train(single, [(a, b, w.float()) for a, b, w in batches], rates, loss_sum, llama.is_decayed, OPTIMIZER))
    worst = max((value.double() - p[name]).abs().max().item() for name, value in single.items())
    print(f"{key_value_heads} heads: gradient norms {[round(norm, 2) for norm in index['gradientNorms']]}, float32 differs by {worst:.1e}")
    return index


writer = FixtureWriter()
cases = [
    run(writer, 1, False, "llama3", 3000, 7000),
    run(writer, 2, False, "default", 3100, 7100),
    run(writer, 4, True, "linear", 3200, 7200),
]
writer.write("llama", {"generator": f"make_llama.py, PyTorch {torch.__version__}", "cases": cases})
