#!/usr/bin/env python3
"""Writes a byte-level BPE tokenizer.json of as many tokens as asked for, to measure loading.

    bench/make_large_tokenizer.py FOLDER [TOKENS]     # 262144 unless said otherwise

The vocabulary is made from a fixed seed: each token joins two earlier ones, as a trained one does.
"""

import json
import pathlib
import random
import sys


def byte_characters():
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in set(shown)]
    return [chr(b) for b in shown] + [chr(256 + i) for i in range(len(hidden))]


def make(count):
    rng = random.Random(7)
    tokens = byte_characters()
    known = set(tokens)
    merges = []
    while len(tokens) < count:
        # Short parts are more likely, so that lengths come out as those of real vocabularies.
        left = tokens[int(len(tokens) * rng.random() ** 3)]
        right = tokens[int(len(tokens) * rng.random() ** 3)]
        if len(left) + len(right) > 16 or left + right in known:
            continue
        known.add(left + right)
        tokens.append(left + right)
        merges.append([left, right])
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
            "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)},
                      "merges": merges}}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 18
    text = json.dumps(make(count), ensure_ascii=False, indent=2)
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
