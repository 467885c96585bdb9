"""Python's side of `pnpm bench dedup`: signatures of 128 places of 5-word shingles by datasketch, rensa or datatrove."""

import argparse
import importlib.metadata
import json
import re
import resource
import time

parser = argparse.ArgumentParser()
parser.add_argument("--library", required=True)
parser.add_argument("--documents", required=True)
parser.add_argument("--rounds", type=int, required=True)
parser.add_argument("--bulk", action="store_true", help="datasketch: MinHash.bulk for all documents instead of an update for each shingle")
parser.add_argument("--scheme", help="datasketch: \"legacy\" for the permutations of its versions before 2.0")
parser.add_argument("--work")
parser.add_argument("--threads")
arguments = parser.parse_args()

with open(arguments.documents, encoding="utf-8") as file:
    documents = json.load(file)

PUNCTUATION = re.compile(r"[^\w\s]|_")


def shingles(text):
    words = PUNCTUATION.sub("", text.lower()).split()
    return {" ".join(words[start : start + 5]) for start in range(max(1, len(words) - 4))}


def with_datasketch():
    from datasketch import MinHash

    # As its documentation shows first: a MinHash for each set, an update for each element.
    def one_by_one():
        for text in documents:
            minhash = MinHash(num_perm=128, seed=42, scheme=arguments.scheme)
            for shingle in shingles(text):
                minhash.update(shingle.encode("utf8"))

    # Its fastest way: the permutations are made once, and a document is one array.
    def in_bulk():
        MinHash.bulk([[shingle.encode("utf8") for shingle in shingles(text)] for text in documents], num_perm=128, seed=42, scheme=arguments.scheme)

    return in_bulk if arguments.bulk else one_by_one


def with_rensa():
    from rensa import RMinHash

    def work():
        for text in documents:
            minhash = RMinHash(num_perm=128, seed=42)
            minhash.update(list(shingles(text)))
            minhash.digest()

    return work


def with_datatrove():
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature

    step = MinhashDedupSignature("unused", config=MinhashConfig(n_grams=5, num_buckets=16, hashes_per_bucket=8))

    def work():
        for text in documents:
            step.get_signature(step.get_shingles(text))

    return work


work = {"datasketch": with_datasketch, "rensa": with_rensa, "datatrove": with_datatrove}[arguments.library]()
work()
seconds = []
for _ in range(arguments.rounds):
    start = time.process_time()
    work()
    seconds.append(time.process_time() - start)
print(
    json.dumps(
        {
            "version": f"{arguments.library} {importlib.metadata.version(arguments.library)}",
            "seconds": seconds,
            "peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
    )
)
