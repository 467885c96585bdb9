"""PyTorch's side of `pnpm bench train`: trains on the weights and batches that bench/train.ts wrote, prints one JSON line.

Usage: torch_train.py DIRECTORY --steps N --threads N [--compile] [--profile]
"""

import json
import sys
import time

import workload

arguments = workload.arguments(
    __doc__, compile="the loss through torch.compile, and so its gradient", profile="print a table of operators to stderr"
)

import torch

from models_eager import MODELS

torch.set_num_threads(arguments.threads)
setup, values, batches = workload.load(arguments.directory)
shape, optimizer_setup = setup["shape"], setup["optimizer"]
batches = torch.from_numpy(batches)
parameters = {name: torch.from_numpy(value).requires_grad_(True) for name, value in values.items()}
del values

model = MODELS[shape["architecture"]](parameters, shape)
loss_of = torch.compile(model.loss) if arguments.compile else model.loss
decayed = [parameters[entry["name"]] for entry in setup["parameters"] if entry["decayed"]]
others = [parameters[entry["name"]] for entry in setup["parameters"] if not entry["decayed"]]
# One pass over memory for each tensor, from PyTorch 2.4 on for the CPU; before that the multi-tensor form is the fastest.
fused = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 4)
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": optimizer_setup["weightDecay"]}, {"params": others, "weight_decay": 0.0}],
    lr=optimizer_setup["learningRate"],
    betas=(optimizer_setup["beta1"], optimizer_setup["beta2"]),
    eps=optimizer_setup["epsilon"],
    **({"fused": True} if fused else {"foreach": True}),
)
everything = decayed + others

losses, milliseconds = [], []


def step(index):
    batch = batches[index % len(batches)]
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(batch[:, :-1], batch[:, 1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(everything, optimizer_setup["clipNorm"])
    optimizer.step()
    losses.append(loss.item())
    milliseconds.append((time.perf_counter() - start) * 1000)


if arguments.profile:
    step(0)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for index in range(1, arguments.steps):
            step(index)
    print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=40, max_name_column_width=40), file=sys.stderr)
else:
    for index in range(arguments.steps):
        step(index)

# With MKL inside PyTorch, a loaded OpenBLAS is numpy's.
blas = "MKL" if torch.backends.mkl.is_available() else f"OpenBLAS {workload.blas_kernel()}"
print(
    json.dumps(
        {
            "version": f"PyTorch {torch.__version__}{' compiled' if arguments.compile else ''}, {blas}",
            "threads": torch.get_num_threads(),
            "losses": losses,
            "stepMilliseconds": milliseconds,
            "peakBytes": workload.peak_bytes(),
        }
    )
)
