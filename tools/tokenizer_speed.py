#!/usr/bin/env python3
"""Pairs bench/tokenizer_bench with the `tokenizers` package, on the same texts, in one run.

    QUIRE_TEST_DATA=DATA python3 tools/tokenizer_speed.py build/dev/bench/tokenizer_bench

Needs the package `tokenizers`. Both sides use one thread and are measured in processor time, which a
busy machine changes least. Prints megabytes a second and the ratio.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer  # noqa: E402: the variables must be set before


def prose(num_bytes):
    page = pathlib.Path("/usr/share/common-licenses/GPL-3").read_text()
    out, number = "", 0
    while len(out) < num_bytes:
        out += f"Page {number}\n{page}"
        number += 1
    return out[:num_bytes]


def measure(tokenizer, text, seconds=1.0):
    tokenizer.encode(text)
    count, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        tokenizer.encode_batch_fast([text])
        count += 1
    return count * len(text) / (time.process_time() - start)


def main():
    data = pathlib.Path(os.environ["QUIRE_TEST_DATA"]) / "tokenizers" / "real" / "smollm2"
    tokenizer = Tokenizer.from_file(str(data / "tokenizer.json"))
    output = subprocess.run([sys.argv[1], "--benchmark_filter=EncodeProse", "--benchmark_format=json"],
                            capture_output=True, check=True, text=True).stdout
    for row in json.loads(output)["benchmarks"]:
        size = int(row["name"].split("/")[1])
        ours, theirs = row["bytes_per_second"], measure(tokenizer, prose(size))
        print(f"{size:>8} bytes: {ours / 1e6:7.1f} MB/s, tokenizers {theirs / 1e6:6.1f} MB/s, "
              f"{ours / theirs:.1f} times")


if __name__ == "__main__":
    main()
