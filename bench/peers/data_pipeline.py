"""datatrove's side of `pnpm bench data --sections pipeline`: packed JSON Lines to Parquet with zstd, one process."""

import argparse
import importlib.metadata
import json
import logging
import os
import resource
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--input", required=True)
parser.add_argument("--output", required=True)
parser.add_argument("--side")
parser.add_argument("--threads")
arguments = parser.parse_args()

from datatrove.executor import LocalPipelineExecutor  # noqa: E402
from datatrove.pipeline.filters import LambdaFilter  # noqa: E402
from datatrove.pipeline.readers import JsonlReader  # noqa: E402
from datatrove.pipeline.writers import ParquetWriter  # noqa: E402
from datatrove.utils.logging import logger  # noqa: E402

logger.remove()
logging.disable(logging.CRITICAL)


def is_kept(document):
    return document.metadata["language"] == "en" and document.metadata["score"] >= 0.25


def row_of(writer, document):
    return {
        "id": int(document.id),
        "url": document.metadata["url"],
        "score": document.metadata["score"],
        "characters": len(document.text),
        "text": document.text,
    }


folder, name = os.path.split(arguments.input)
output, file = os.path.split(arguments.output)
executor = LocalPipelineExecutor(
    pipeline=[
        JsonlReader(folder, glob_pattern=name, compression="infer"),
        LambdaFilter(is_kept),
        # One file, under its own name: with a largest size, its newer versions number the files.
        ParquetWriter(output, output_filename=file, compression="zstd", adapter=row_of, batch_size=1000, max_file_size=-1),
    ],
    tasks=1,
    workers=1,
    logging_dir=os.path.join(output, "logs"),
)
stdout, sys.stdout = sys.stdout, sys.stderr
start = time.perf_counter()
before = time.process_time()
executor.run()
seconds = time.perf_counter() - start
sys.stdout = stdout
print(
    json.dumps(
        {
            "version": "datatrove " + importlib.metadata.version("datatrove"),
            "seconds": seconds,
            "cpuSeconds": time.process_time() - before,
            "peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "kept": 0,
            "characters": 0,
        }
    )
)
