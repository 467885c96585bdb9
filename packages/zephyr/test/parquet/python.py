"""pyarrow and Polars for the tests of Parquet; nothing of the test command needs it.

    python3 -m venv /tmp/parquet && /tmp/parquet/bin/pip install pyarrow polars
    /tmp/parquet/bin/python test/parquet/python.py write test/fixtures/parquet   # their files, out of base.parquet
    /tmp/parquet/bin/python test/parquet/python.py read DIRECTORY                # reads our files, and compares them with each other

`read` takes a directory made by make-our-files.ts: every file in it holds the same rows, which expected.json tells.
"""

import datetime
import decimal
import json
import math
import pathlib
import sys

import polars
import pyarrow.parquet


def write(directory):
    base = directory / "base.parquet"
    table = pyarrow.parquet.read_table(base)
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        for version in ["1.0", "2.0"]:
            name = f"pyarrow-{codec}-v{version[0]}.parquet"
            pyarrow.parquet.write_table(
                table, directory / name, compression=codec, data_page_version=version, write_page_checksum=True, store_schema=False
            )
    frame = polars.read_parquet(base)
    for codec in ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        frame.write_parquet(directory / f"polars-{codec}.parquet", compression=codec)


def plain(value):
    """The form of expected.json: numbers that JSON rounds are text, bytes are hex, times are microseconds."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        delta = value - epoch
        return str((delta.days * 86400 + delta.seconds) * 1000000 + delta.microseconds)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.time):
        return str(((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise TypeError(f"no form for {type(value)}")


def maps_as_pairs(rows):
    """Maps come as dictionaries from Polars, as lists of pairs from pyarrow."""
    for row in rows:
        pairs = row.get("map")
        if pairs is not None:
            row["map"] = [list(pair) for pair in (pairs.items() if isinstance(pairs, dict) else pairs)]
    return rows


def read(directory):
    expected = json.loads((directory / "expected.json").read_text())
    wrong = 0
    for path in sorted(directory.glob("*.parquet")):
        for name, load in [("pyarrow", lambda: pyarrow.parquet.read_table(path).to_pylist()), ("polars", lambda: polars.read_parquet(path).to_dicts())]:
            try:
                found = [plain(row) for row in maps_as_pairs(load())]
                verdict = "equal" if found == expected else "DIFFERENT"
                if found != expected:
                    for index, (row, should) in enumerate(zip(found, expected)):
                        for key in should:
                            if row.get(key) != should[key]:
                                print(f"  row {index} {key}: {row.get(key)!r} instead of {should[key]!r}")
            except Exception as error:  # noqa: BLE001 - told, and counted as wrong
                verdict = f"FAILED: {error}"
            wrong += verdict != "equal"
            print(f"{name} reads {path.name}: {verdict}")
    sys.exit(1 if wrong else 0)


{"write": write, "read": read}[sys.argv[1]](pathlib.Path(sys.argv[2]))
