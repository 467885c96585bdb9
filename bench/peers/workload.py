"""What the Python programs share: their command line, the files that bench/train-workload.ts wrote, memory, the BLAS in use."""

import argparse
import ctypes
import json
import os
import sys


def arguments(description, **flags):
    """Parses `DIRECTORY --steps N --threads N` and the given flags, and sets the variables that BLAS libraries read when they are loaded."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("directory")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    for name, text in flags.items():
        parser.add_argument("--" + name, action="store_true", help=text)
    parsed = parser.parse_args()
    limit_threads(parsed.threads)
    return parsed


def limit_threads(threads):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)


def load(directory):
    """Returns the set-up, the initial values by name (float32), and the batches (int64 [batches, B, T+1])."""
    import numpy as np

    with open(os.path.join(directory, "setup.json")) as file:
        setup = json.load(file)
    values = {}
    with open(os.path.join(directory, "weights.bin"), "rb") as file:
        for entry in setup["parameters"]:
            count = int(np.prod(entry["shape"]))
            values[entry["name"]] = np.fromfile(file, dtype="<f4", count=count).reshape(entry["shape"])
    batches = np.fromfile(os.path.join(directory, "batches.bin"), dtype="<i4").astype(np.int64)
    return setup, values, batches.reshape(-1, setup["shape"]["batch"], setup["shape"]["length"] + 1)


def peak_bytes():
    """Peak resident memory of this process: the kernel's high-water mark where there is one."""
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


def blas_kernel():
    """Name of the kernel that the loaded OpenBLAS chose for this processor, or None."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if "openblas" in line}
    except OSError:
        return None
    for path in paths:
        library = ctypes.CDLL(path)
        for symbol in ("openblas_get_corename", "scipy_openblas_get_corename64_"):
            if hasattr(library, symbol):
                function = getattr(library, symbol)
                function.restype = ctypes.c_char_p
                return function().decode()
    return None
