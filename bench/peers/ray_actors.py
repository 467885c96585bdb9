"""Ray's side of `pnpm bench actors`: one actor in a process. Prints one JSON line.

Usage: ray_actors.py --calls N --in-flight N --items N --transfers N --threads N
"""

import argparse
import json
import os
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy
import ray

parser = argparse.ArgumentParser()
for name in ("calls", "in-flight", "items", "transfers", "threads"):
    parser.add_argument(f"--{name}", type=int, default=1)
parser.add_argument("--kind", default="process")
arguments = parser.parse_args()

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")


@ray.remote
class BenchActor:
    def add(self, a, b):
        return a + b

    def echo(self, data):
        return data

    def items(self, count):
        for n in range(count):
            yield n


actor = BenchActor.remote()
IN_FLIGHT = 64


def rate(count, work):
    work(-(-count // 5))
    start = time.perf_counter()
    work(count)
    return count / (time.perf_counter() - start)


def calls(count):
    for _ in range(count):
        assert ray.get(actor.add.remote(1, 2)) == 3


def calls_in_flight(count):
    pending = []
    for _ in range(count):
        if len(pending) == IN_FLIGHT:
            assert all(each == 3 for each in ray.get(pending))
            pending = []
        pending.append(actor.add.remote(1, 2))
    ray.get(pending)


def items(count):
    seen = 0
    for reference in actor.items.options(num_returns="streaming").remote(count):
        assert ray.get(reference) == seen
        seen += 1
    assert seen == count


def transfers(count):
    data = numpy.full(1_000_000, 7, dtype=numpy.uint8)
    for _ in range(count):
        data = ray.get(actor.echo.remote(data))
    assert data[999_999] == 7


def peak_of_family():
    """Peak resident memory of this process and all below it, added up."""
    processes = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/status") as status:
                fields = dict(line.split(":", 1) for line in status if ":" in line)
            processes[int(name)] = (int(fields["PPid"]), int(fields.get("VmHWM", "0 kB").split()[0]) * 1024)
        except (OSError, KeyError):
            pass

    def total(pid):
        return processes[pid][1] + sum(total(child) for child, (parent, _) in processes.items() if parent == pid)

    return total(os.getpid())


report = {
    "version": f"Ray {ray.__version__}, one actor in a process",
    "calls": rate(arguments.calls, calls),
    "callsInFlight": rate(arguments.in_flight, calls_in_flight),
    "items": rate(arguments.items, items),
    "transfers": rate(arguments.transfers, transfers),
    "peakBytes": peak_of_family(),
}
ray.shutdown()
print(json.dumps(report))
