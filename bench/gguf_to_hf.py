#!/usr/bin/env python3
"""Writes the Hugging Face folder of a GGUF model of the llama architecture, with bf16 weights.

    bench/gguf_to_hf.py MODEL.gguf FOLDER

It is there for peers that read no GGUF: the weights are those of the GGUF file, each rounded once
more to bf16. Needs numpy. Reads F32, F16, BF16, Q4_0, Q4_1 and Q8_0, and the vocabularies of kind
"smollm".
"""

import json
import pathlib
import struct
import sys

import numpy as np

import gguf_file

NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
         "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj"}
OUTER_NAMES = {"token_embd.weight": "model.embed_tokens.weight",
               "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
CONTROL = 3  # a token's type in tokenizer.ggml.token_type


def f16_at(blocks, place):
    return np.ascontiguousarray(blocks[:, place:place + 2]).view(np.float16).astype(np.float32)


def nibbles(blocks, place):
    codes = blocks[:, place:place + 16]
    return np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.float32)


def decode(info, data):
    """The values as f32, by rows."""
    if info.type == "F32":
        values = data.view(np.float32)
    elif info.type == "F16":
        values = data.view(np.float16).astype(np.float32)
    elif info.type == "BF16":
        values = (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    elif info.type in ("Q4_0", "Q4_1", "Q8_0"):
        blocks = data.reshape(-1, gguf_file.TYPES[gguf_file.TYPE_NUMBERS[info.type]][2])
        scale = f16_at(blocks, 0)
        if info.type == "Q4_0":
            values = scale * (nibbles(blocks, 2) - 8)
        elif info.type == "Q4_1":
            values = scale * nibbles(blocks, 4) + f16_at(blocks, 2)
        else:
            values = scale * np.ascontiguousarray(blocks[:, 2:]).view(np.int8)
    else:
        sys.exit(f"{info.name} is of the type {info.type}, which is not read here")
    return values.reshape(info.shape[::-1])


def split_halves(values, heads):
    """A head's rows as Hugging Face pairs them for rotation, i with i + half, where GGUF has a
    pair's two rows side by side."""
    rows, columns = values.shape
    pairs = values.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(values.shape)


def to_bf16(values):
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def hf_name(name):
    if name in OUTER_NAMES:
        return OUTER_NAMES[name]
    _, layer, what, suffix = name.split(".")
    return f"model.layers.{layer}.{NAMES[what]}.{suffix}"


def write_weights(model, path):
    heads = {"attn_q": model.field("attention.head_count"),
             "attn_k": model.field("attention.head_count_kv")}
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for info in model.tensors.values():
        size = 2 * info.values()
        header[hf_name(info.name)] = {"dtype": "BF16", "shape": info.shape[::-1],
                                      "data_offsets": [offset, offset + size]}
        offset += size
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    source = np.memmap(model.path, dtype=np.uint8, mode="r")
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for info in model.tensors.values():
            values = decode(info, np.array(source[info.start:info.start + info.bytes()]))
            what = info.name.split(".")[-2]
            file.write(to_bf16(split_halves(values, heads[what]) if what in heads else values))


def config(model):
    fields = model.fields
    heads, width = model.field("attention.head_count"), model.field("embedding_length")
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
            "torch_dtype": "bfloat16", "hidden_size": width, "num_attention_heads": heads,
            "intermediate_size": model.field("feed_forward_length"),
            "num_hidden_layers": model.field("block_count"),
            "num_key_value_heads": model.field("attention.head_count_kv"),
            "head_dim": width // heads,
            "rms_norm_eps": model.field("attention.layer_norm_rms_epsilon"),
            "rope_theta": model.field("rope.freq_base"),
            "max_position_embeddings": model.field("context_length"),
            "vocab_size": len(fields["tokenizer.ggml.tokens"]),
            "tie_word_embeddings": "output.weight" not in model.tensors,
            "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
            "eos_token_id": fields["tokenizer.ggml.eos_token_id"]}


def tokenizer(fields):
    if fields.get("tokenizer.ggml.pre") != "smollm":
        sys.exit("only vocabularies whose tokenizer.ggml.pre is smollm are known here, not "
                 f"{fields.get('tokenizer.ggml.pre')}")
    tokens, types = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None,
            "added_tokens": [{"id": number, "content": token, "single_word": False, "lstrip": False,
                              "rstrip": False, "normalized": False, "special": True}
                             for number, token in enumerate(tokens) if types[number] == CONTROL],
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": True}, byte_level]},
            "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {token: number for number, token in enumerate(tokens)},
                      "merges": fields["tokenizer.ggml.merges"]}}


def tokenizer_config(fields):
    tokens = fields["tokenizer.ggml.tokens"]
    return {"tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"]],
            "eos_token": tokens[fields["tokenizer.ggml.eos_token_id"]],
            "chat_template": fields.get("tokenizer.chat_template")}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model, folder = gguf_file.Gguf(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (("tokenizer.json", tokenizer(model.fields)),
                        ("tokenizer_config.json", tokenizer_config(model.fields)),
                        ("config.json", config(model))):
        (folder / name).write_text(json.dumps(value, ensure_ascii=False))
    # Last and under another name, so that a folder that holds it is whole.
    write_weights(model, folder / "model.part")
    (folder / "model.part").rename(folder / "model.safetensors")


if __name__ == "__main__":
    main()
