"""Pseudo-random numbers that Python and TypeScript compute alike, so that weights and batches need not be stored.

value(seed, i): x = (i * 0x9E3779B1 + seed * 0x85EBCA77) mod 2^32, then mixed by x ^= x >> 16, x *= 0x21F0AAAD, x ^= x >> 15,
x *= 0x735A2D97, x ^= x >> 15 (all modulo 2^32). hashing.ts is the same function.
"""

import numpy as np


def hash32(seed, count):
    mask = np.uint64(0xFFFFFFFF)
    x = (np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B1) + np.uint64(seed) * np.uint64(0x85EBCA77)) & mask
    x ^= x >> np.uint64(16)
    x = (x * np.uint64(0x21F0AAAD)) & mask
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(0x735A2D97)) & mask
    x ^= x >> np.uint64(15)
    return x


def symmetric(seed, count, scale):
    """Float32 values spread evenly over [-scale, scale): the upper 24 bits of the hash as a fraction."""
    return (((hash32(seed, count) >> np.uint64(8)).astype(np.float64) / 2**23 - 1) * scale).astype(np.float32)
