"""Writes reference cases: an index in JSON and the numbers in one file of 4-byte little-endian values.

Everything is computed in float64 from inputs rounded to float32, and rounded to float32 once when it is stored.
"""

import json
import os

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class FixtureWriter:
    """Collects arrays; `add` returns the index entry {shape, dtype, offset}, the offset counted in 4-byte values."""

    def __init__(self):
        self.pieces = []
        self.length = 0

    def add(self, array):
        array = array.detach().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)
        dtype = {"f": "float32", "i": "int32", "b": "bool"}[array.dtype.kind]
        entry = {"shape": list(array.shape), "dtype": dtype, "offset": self.length}
        # Booleans are stored as int32 0 and 1 so that every value takes four bytes.
        self.pieces.append(np.ascontiguousarray(array).astype("<f4" if dtype == "float32" else "<i4").tobytes())
        self.length += array.size
        return entry

    def write(self, name, index):
        with open(os.path.join(HERE, name + ".bin"), "wb") as file:
            file.write(b"".join(self.pieces))
        write_json(name, index)


def write_json(name, index):
    """One line per item of the top-level lists, so that a change shows as a readable difference."""
    lines = []
    for key, value in index.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n".join("    " + json.dumps(item) for item in value)
            lines.append(f'  "{key}": [\n{items}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value)}')
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
