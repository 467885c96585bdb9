"""PyTorch's side of the calibration: the best of N products of two square matrices. Prints one JSON line.

Usage: torch_calibrate.py --size N --repeats N --threads N
"""

import argparse
import json
import time

import workload

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, required=True)
parser.add_argument("--repeats", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
arguments = parser.parse_args()
workload.limit_threads(arguments.threads)

import torch

torch.set_num_threads(arguments.threads)
generator = torch.Generator().manual_seed(1)
a = torch.rand(arguments.size, arguments.size, generator=generator)
b = torch.rand(arguments.size, arguments.size, generator=generator)
out = torch.empty_like(a)
best = float("inf")
for _ in range(arguments.repeats + 1):
    start = time.perf_counter()
    torch.mm(a, b, out=out)
    best = min(best, time.perf_counter() - start)
print(json.dumps({"version": f"PyTorch {torch.__version__}", "gflops": 2 * arguments.size**3 / best / 1e9}))
