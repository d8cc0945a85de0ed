"""The rates that memory and arithmetic of a machine allow a model, from a GGUF file's header."""

import statistics

import gguf_file
from peer_engines import BATCH_IN

# Types whose codes have four bits at most: their products may be summed in 16 bits.
FOUR_BIT = {"Q4_0", "Q4_1", "Q4_K", "IQ4_NL", "IQ4_XS", "MXFP4", "Q2_K", "Q3_K"}
FLOATS = {"F32", "F16", "BF16"}
KV_BYTES = 2  # of a value


class Limits:
    """Every byte of the matrices is read once a step, every weight multiplied once a row."""

    def __init__(self, machine, options):
        self.options = options
        self.isa = machine[0]["isa"]
        # The best of the rounds: what else runs can only lower what the machine seems to allow.
        self.best = {name: max(one[name] for one in machine)
                     for name, value in machine[0].items() if isinstance(value, float)}
        model = gguf_file.Gguf(options.model)
        self.kv_bytes = (2 * KV_BYTES * model.field("block_count")
                         * model.field("attention.head_count_kv") * self.head_width(model))
        matrices = [info for info in model.tensors.values() if len(info.shape) == 2]
        head = "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
        if head == "output.weight":
            matrices = [info for info in matrices if info.name != "token_embd.weight"]
        self.bytes = sum(info.bytes() for info in matrices)
        self.head_seconds = sum(self.seconds(info) for info in matrices if info.name == head)
        self.seconds_a_row = sum(map(self.seconds, matrices))

    @staticmethod
    def head_width(model):
        name = f"{model.fields['general.architecture']}.attention.key_length"
        return model.fields.get(name) or (model.field("embedding_length")
                                          // model.field("attention.head_count"))

    def seconds(self, info):
        """Of the arithmetic of one row. Floats count as f32: no other peak of theirs is known."""
        if info.type in FLOATS:
            peak = self.best["f32_gop_per_s"]
        else:
            peak = max(self.best.get("int8_gop_per_s", 0.0),
                       self.best.get("int8_s16_gop_per_s", 0.0) if info.type in FOUR_BIT else 0.0)
        return 2 * info.values() / (peak * 1e9)

    def decode_share(self, row, runs):
        """Of what memory allowed at the time of each (tokens/s, GB/s), their median."""
        return statistics.median(rate / self.rate(row, memory) for rate, memory in runs)

    def rate(self, row, memory_gb_per_s=None):
        """None for a row without a limit of its own."""
        memory = 1e9 * (self.best["memory_gb_per_s"] if memory_gb_per_s is None
                        else memory_gb_per_s)
        if row.what == "prefill":  # only the last row meets the head
            arithmetic = row.size * (self.seconds_a_row - self.head_seconds) + self.head_seconds
            return row.size / max(self.bytes / memory, arithmetic)
        if row.what == "offline":
            return None
        rows = row.size if row.what == "batch" else 1
        if row.what == "batch":
            context = BATCH_IN + self.options.batch_len / 2
        else:
            context = (row.size or BATCH_IN) + self.options.decode_len / 2
        read = self.bytes + rows * context * self.kv_bytes
        return rows / max(read / memory, rows * self.seconds_a_row)

    def __str__(self):
        known = {"memory_gb_per_s": "memory read {:.1f} GB/s",
                 "int8_gop_per_s": "int8 {:.0f} GOP/s",
                 "int8_s16_gop_per_s": "int8 in 16-bit sums {:.0f} GOP/s",
                 "f32_gop_per_s": "f32 {:.0f} GOP/s"}
        return ", ".join([self.isa] + [text.format(self.best[name])
                                       for name, text in known.items() if name in self.best])
