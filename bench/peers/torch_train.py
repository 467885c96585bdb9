"""PyTorch's side of `pnpm bench train`: trains on the weights and batches that bench/train.ts wrote, prints one JSON line.

Usage: torch_train.py DIRECTORY --steps N --threads N [--profile]
"""

import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("directory")
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--profile", action="store_true", help="print a table of operators to stderr")
parser.add_argument("--no-foreach", action="store_true", help="AdamW one tensor at a time")
arguments = parser.parse_args()

# OpenBLAS and OpenMP read these when they are loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(arguments.threads)

import numpy as np
import torch

from gpt2_eager import Gpt2, is_decayed


def peak_bytes():
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


torch.set_num_threads(arguments.threads)
with open(os.path.join(arguments.directory, "setup.json")) as file:
    setup = json.load(file)
shape, optimizer_setup = setup["shape"], setup["optimizer"]
weights = np.fromfile(os.path.join(arguments.directory, "weights.bin"), dtype="<f4")
batches = np.fromfile(os.path.join(arguments.directory, "batches.bin"), dtype="<i4").astype(np.int64)
batches = torch.from_numpy(batches).view(-1, shape["batch"], shape["length"] + 1)

parameters, offset = {}, 0
for entry in setup["parameters"]:
    count = int(np.prod(entry["shape"]))
    values = torch.from_numpy(weights[offset : offset + count].copy()).view(entry["shape"])
    parameters[entry["name"]] = values.requires_grad_(True)
    offset += count
del weights

model = Gpt2(parameters, shape["layers"], shape["heads"], shape["length"])
decayed = [p for name, p in parameters.items() if is_decayed(name, p.shape)]
others = [p for name, p in parameters.items() if not is_decayed(name, p.shape)]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": optimizer_setup["weightDecay"]}, {"params": others, "weight_decay": 0.0}],
    lr=optimizer_setup["learningRate"],
    betas=(optimizer_setup["beta1"], optimizer_setup["beta2"]),
    eps=optimizer_setup["epsilon"],
    foreach=not arguments.no_foreach,
)
everything = decayed + others

losses, milliseconds = [], []


def step(index):
    batch = batches[index % len(batches)]
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = model.loss(batch[:, :-1], batch[:, 1:])
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

print(
    json.dumps(
        {
            "version": f"PyTorch {torch.__version__}",
            "threads": torch.get_num_threads(),
            "losses": losses,
            "stepMilliseconds": milliseconds,
            "peakBytes": peak_bytes(),
        }
    )
)
