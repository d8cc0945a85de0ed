#!/usr/bin/env python3
"""Writes the seeds of the json, safetensors and gguf fuzz targets into fuzz/corpus.

Inputs that a search has found lie beside them under other names; this leaves them alone.
"""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus"

JSON = {
    "kinds": '{"n":null,"t":true,"f":false,"i":-3,"u":18446744073709551615,"d":0.5e-3,"s":"\\u00e9",'
    '"a":[1,[],{}],"o":{"x":{"y":[null]}}}',
    "strings": '["\\ud83d\\ude00","\\"\\\\\\/\\b\\f\\n\\r\\t","é漢😀","\\u0000"]',
    "lone_surrogate": '"\\ud800"',
    "literals": '{"time_step_limit":[0.0,Infinity],"x":-Infinity,"NaN":NaN}',
    "numbers": "[0,-0,0.0,-0.0,1e308,1e999,5e-324,9223372036854775808,1E+2,123456789012345678901]",
    "equal_names": '{"a":1,"b":{"x":1,"x":2},"a":3}',
    "deep": "[" * 70,
    "deep_objects": '{"a":' * 9 + "1" + "}" * 9,
    "byte_order_mark": "\ufeff{}",
    "spaces": " \t\r\n[ 1 , 2 ]\n",
    "config": '{"architectures":["LlamaForCausalLM"],"hidden_size":64,"rope_scaling":{"factor":8.0,'
    '"rope_type":"llama3"},"rms_norm_eps":1e-05,"tie_word_embeddings":true}',
    "tokenizer": '{"version":"1.0","added_tokens":[{"id":0,"content":"<s>","special":true}],'
    '"model":{"type":"BPE","vocab":{"a":0,"Ġ":1},"merges":["Ġ a"]}}',
}


def safetensors(header, data_bytes, length=None):
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    raw = text.encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + bytes(data_bytes)


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SAFETENSORS = {
    "two": safetensors(
        {"__metadata__": {"format": "pt"}, "b": entry("BF16", [2, 3], 4, 16), "a": entry("F32", [], 0, 4)}, 16
    ),
    "empty_tensor": safetensors({"a": entry("I64", [0, 7], 0, 0), "b": entry("U8", [3], 0, 3)}, 3),
    "padded": safetensors('{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}   ', 1),
    "no_tensors": safetensors("{}", 0),
    "overlap": safetensors({"a": entry("U8", [3], 0, 3), "b": entry("U8", [2], 2, 4)}, 4),
    "gap": safetensors({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, 3),
    "overflow": safetensors({"a": entry("F32", [1 << 32, 1 << 32], 0, 0)}, 0),
    "past_end": safetensors({"a": entry("F64", [2], 0, 16)}, 8),
    "length_2_63": safetensors("{}", 0, length=1 << 63),
    "index": b'{"metadata":{"total_size":8},"weight_map":{"a":"m-00001-of-00002.safetensors","b":"m"}}',
    "index_path": b'{"weight_map":{"a":"../x"}}',
}


def text(value):
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def gguf(metadata=(), tensors=(), data_bytes=0, version=3, alignment=32, counts=None):
    num_tensors, num_metadata = counts or (len(tensors), len(metadata))
    out = b"GGUF" + struct.pack("<IQQ", version, num_tensors, num_metadata) + b"".join(metadata)
    for name, dims, kind, offset in tensors:
        out += text(name) + struct.pack("<I", len(dims))
        out += b"".join(struct.pack("<Q", dim) for dim in dims) + struct.pack("<IQ", kind, offset)
    if tensors:
        out += bytes(-len(out) % alignment) + bytes(data_bytes)
    return out


def value(key, kind, raw):
    return text(key) + struct.pack("<I", kind) + raw


def array(kind, count, raw):
    return struct.pack("<IQ", kind, count) + raw


PLAIN = [
    value(f"k{kind}", kind, raw)
    for kind, raw in enumerate(
        [b"\x01", b"\xff", b"\x01\x00", b"\xfe\xff", struct.pack("<I", 7), struct.pack("<i", -7),
         struct.pack("<f", 0.5), b"\x01", text("value"), array(8, 2, text("a") + text(b"\xff")),
         struct.pack("<Q", 1 << 63), struct.pack("<q", -9), struct.pack("<d", 0.25)]
    )
]
NESTED = array(9, 2, array(0, 1, b"\x09") + array(9, 1, array(7, 2, b"\x00\x01")))
NUMBERS = [array(kind, 2, bytes(2 * size))
           for kind, size in ((0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8))]

GGUF = {
    "types": gguf(PLAIN, [("w", [32, 2], 2, 0), ("b", [3], 0, 64)], 76),
    "arrays": gguf([value(f"a{i}", 9, raw) for i, raw in enumerate([NESTED, *NUMBERS])]),
    "version_2": gguf(PLAIN[:3], [("w", [4], 0, 0)], 16, version=2),
    "alignment": gguf([value("general.alignment", 4, struct.pack("<I", 8))],
                      [("a", [1], 24, 0), ("b", [1], 24, 8)], 9, alignment=8),
    "kinds": gguf([], [(f"t{kind}", [256], kind, 2048 * i) for i, kind in enumerate((10, 14, 8, 30, 40))], 8704),
    "scalar": gguf([], [("s", [], 0, 0)], 4),
    "model": gguf([value("general.architecture", 8, text("llama")),
                   value("llama.block_count", 4, struct.pack("<I", 1)),
                   value("tokenizer.ggml.tokens", 9, array(8, 3, text("<s>") + text("a") + text("b"))),
                   value("tokenizer.ggml.scores", 9, array(6, 3, bytes(12)))],
                  [("token_embd.weight", [32, 3], 8, 0)], 102),
    "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "counts_2_63": gguf(counts=(1 << 63, 1 << 63)),
    "deep": gguf([value("k", 9, array(9, 1, b"") * 9)]),
    "overlap": gguf([], [("a", [9], 0, 0), ("b", [8], 0, 32)], 96),
    "equal_keys": gguf([PLAIN[0], PLAIN[0]]),
}


def main():
    for target, seeds in (("json_fuzz", JSON), ("safetensors_fuzz", SAFETENSORS), ("gguf_fuzz", GGUF)):
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, seed in seeds.items():
            (folder / name).write_bytes(seed.encode() if isinstance(seed, str) else seed)
        print(f"{folder.relative_to(CORPUS.parent.parent)}: {len(seeds)} seeds")


if __name__ == "__main__":
    main()
