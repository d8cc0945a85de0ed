#!/usr/bin/env python3
"""Writes a GGUF file of the llama architecture with a given shape and random weights.

    bench/dummy_model.py --shape 1b --type Q4_K --out FILE [--vocab MODEL.gguf]

It is there to measure the speed of shapes of which no real model is at hand: what it says is noise.
The vocabulary is taken from another GGUF file. The head is the embedding, in Q8_0 or, beside Q4_K,
in Q6_K.
"""

import argparse
import math
import os
import pathlib
import random
import struct

import gguf_file
from peer_packages import CACHE, DEFAULT_MODEL

SHAPES = {  # width, feed-forward width, layers, heads, KV heads, width of a head
    "135m": (576, 1536, 30, 9, 3, 64),
    "1b": (2048, 8192, 16, 32, 8, 64),
    "3b": (3072, 8192, 28, 24, 8, 128),
}
# Where a block has its f16 scale (or scale and minimum), and the spread of its values at scale 1
# when all other bits are random. A minimum of 7.5 scales centres Q4_K.
SCALES = {"Q4_0": (((0, 1.0),), 4.6), "Q8_0": (((0, 1.0),), 74.0),
          "Q4_K": (((0, 1.0), (2, 7.5)), 250.0), "Q6_K": (((208, 1.0),), 1340.0)}
FILE_TYPES = {"Q4_0": 2, "Q8_0": 7, "Q4_K": 15}


def random_blocks(kind, columns, rows, seed):
    _, values, size = gguf_file.TYPES[gguf_file.TYPE_NUMBERS[kind]]
    count = rows * columns // values
    blocks = bytearray(random.Random(seed).randbytes(count * size))
    places, spread = SCALES[kind]
    for place, factor in places:
        low, high = struct.pack("<e", factor * 0.6 / math.sqrt(columns) / spread)
        blocks[place::size] = bytes([low]) * count
        blocks[place + 1::size] = bytes([high]) * count
    return blocks


def tensors_of(shape, kind, vocabulary):
    width, feed_forward, layers, heads, kv_heads, head_width = SHAPES[shape]
    made = []

    def matrix(name, columns, rows, kind):
        seed = len(made)
        made.append((name, (columns, rows), kind,
                     lambda: random_blocks(kind, columns, rows, seed)))

    def ones(name):
        made.append((name, (width,), "F32", lambda: struct.pack("<f", 1.0) * width))

    matrix("token_embd.weight", width, vocabulary, "Q6_K" if kind == "Q4_K" else "Q8_0")
    ones("output_norm.weight")
    for layer in range(layers):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        matrix(block + "attn_q.weight", width, heads * head_width, kind)
        matrix(block + "attn_k.weight", width, kv_heads * head_width, kind)
        matrix(block + "attn_v.weight", width, kv_heads * head_width, kind)
        matrix(block + "attn_output.weight", heads * head_width, width, kind)
        matrix(block + "ffn_gate.weight", width, feed_forward, kind)
        matrix(block + "ffn_up.weight", width, feed_forward, kind)
        matrix(block + "ffn_down.weight", feed_forward, width, kind)
    return made


def fields_of(shape, kind, vocabulary):
    width, feed_forward, layers, heads, kv_heads, head_width = SHAPES[shape]
    tokens = len(vocabulary.fields["tokenizer.ggml.tokens"])
    values = {"general.architecture": "llama", "general.name": f"dummy-{shape}-{kind}",
              "general.quantization_version": 2, "general.file_type": FILE_TYPES[kind],
              "llama.context_length": 8192, "llama.embedding_length": width,
              "llama.block_count": layers, "llama.feed_forward_length": feed_forward,
              "llama.attention.head_count": heads, "llama.attention.head_count_kv": kv_heads,
              "llama.attention.layer_norm_rms_epsilon": 1e-5,
              "llama.attention.key_length": head_width, "llama.attention.value_length": head_width,
              "llama.rope.dimension_count": head_width, "llama.rope.freq_base": 500000.0,
              "llama.vocab_size": tokens}
    return ([gguf_file.encode_field(name, value) for name, value in values.items()]
            + [encoded for name, encoded in vocabulary.encoded.items()
               if name.startswith("tokenizer.")])


def make(path, shape, kind, vocabulary):
    """Writes it whole or not at all."""
    source = gguf_file.Gguf(vocabulary)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    gguf_file.write(part, fields_of(shape, kind, source),
                    tensors_of(shape, kind, len(source.fields["tokenizer.ggml.tokens"])))
    part.rename(path)


def dummy_path(name):
    return CACHE / "peers" / "dummy" / f"{name}.gguf"


def split_name(name):
    """"1b-q4_0" as shape and type, or None."""
    shape, _, kind = name.partition("-")
    return (shape, kind.upper()) if fits(shape, kind.upper()) else None


def fits(shape, kind):
    """Whether there are both, and rows are whole blocks."""
    return (shape in SHAPES and kind in FILE_TYPES
            and SHAPES[shape][0] % gguf_file.TYPES[gguf_file.TYPE_NUMBERS[kind]][1] == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="1b")
    parser.add_argument("--type", choices=FILE_TYPES, default="Q4_0")
    parser.add_argument("--vocab", type=pathlib.Path, default=DEFAULT_MODEL)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not options.vocab.is_file():
        parser.error(f"{options.vocab} is absent: run make model, or name another by --vocab")
    if not fits(options.shape, options.type):
        parser.error(f"the rows of {options.shape} are no whole blocks of {options.type}")
    make(options.out, options.shape, options.type, options.vocab)


if __name__ == "__main__":
    main()
