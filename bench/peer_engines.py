"""Quire and its peers behind one interface: rates in tokens a second.

An engine has those of these methods that it can answer: prefill(tokens), decode(context),
batch(size) and offline(), which counts the tokens that are written.
"""

import json
import os
import subprocess
import sys
import tempfile

from peer_packages import build_ik_llama, build_llama, install_openvino, install_vllm, run

BATCH_IN = 16  # tokens of a prompt of a batch
OFFLINE_PROMPTS, OFFLINE_IN, OFFLINE_OUT = 64, 128, 64
OFFLINE_CACHE_GIB = 2  # memory of the KV cache then


class Quire:
    def __init__(self, options, model, name="quire"):
        self.options, self.model, self.name = options, model, name
        self.binary = options.quire
        self.environment = dict(os.environ)
        if options.isa:
            self.environment["QUIRE_CPU_ISA"] = options.isa
        self.runs = {}  # of decode, by context: (tokens/s, GB/s of memory around it)

    def bench(self, *arguments):
        return json.loads(run([self.binary, "bench", *arguments, "--threads", self.options.threads,
                               "--json"], env=self.environment))

    def latency(self, batch, tokens_in, tokens_out, *more, runs=2):
        return self.bench("latency", self.model, "--batch-size", batch, "--input-len", tokens_in,
                          "--output-len", tokens_out, "--num-iters-warmup", min(runs - 1, 1),
                          "--num-iters", runs, "--kv-cache-dtype", self.options.kv_cache_dtype,
                          *more)

    def prefill(self, tokens):
        return self.latency(1, tokens, 1)["prefill_tokens_per_s"]

    def decode(self, context):
        result = self.latency(1, context or BATCH_IN, self.options.decode_len, "--measure-memory",
                              runs=1 if context else 4)
        self.runs.setdefault(context, []).extend(zip(result["decode_tokens_per_s_of_runs"],
                                                     result["memory_gb_per_s_of_runs"]))
        return result["decode_tokens_per_s"]

    def batch(self, size):
        return self.latency(size, BATCH_IN, self.options.batch_len)["decode_tokens_per_s"]

    def offline(self):
        # vLLM, too, takes its cache's memory before the clock starts.
        return self.bench("throughput", self.model, "--num-prompts", OFFLINE_PROMPTS,
                          "--input-len", OFFLINE_IN, "--output-len", OFFLINE_OUT,
                          "--max-num-seqs", OFFLINE_PROMPTS, "--prefault-kv-cache",
                          "--kv-cache-memory-bytes", f"{OFFLINE_CACHE_GIB}G",
                          )["output_tokens_per_second"]

    def machine(self):
        return self.bench("machine")


class Llama:
    name = "llama.cpp"

    def __init__(self, options):
        self.options = options
        self.programs = self.build(["llama-bench", "llama-batched-bench"])

    def build(self, targets):
        return build_llama(targets, self.options.isa)

    def bench(self, *arguments):
        out = run([self.programs / "llama-bench", "-m", self.options.model, "-t",
                   self.options.threads, *arguments, "-o", "json"])
        return json.loads(out)[0]["avg_ts"]

    def prefill(self, tokens):
        return self.bench("-p", tokens, "-n", 0, "-r", 2)

    def decode(self, context):
        if not context:
            return self.bench("-p", 0, "-n", self.options.decode_len, "-r", 2)
        return self.bench_at(context)

    def bench_at(self, context):
        return self.bench("-p", 0, "-n", self.options.decode_len, "-d", context, "-r", 1)

    def batch(self, size):
        written = self.options.batch_len
        return self.rate_of_batch([
            self.programs / "llama-batched-bench", "-m", self.options.model, "-t",
            self.options.threads, "-c", size * (BATCH_IN + written), "-npp", BATCH_IN, "-ntg",
            written, "-npl", size])

    def rate_of_batch(self, command):
        out = run([*command, "--output-format", "jsonl"])
        return json.loads(out.strip().splitlines()[-1])["speed_tg"]


class IkLlama(Llama):
    name = "ik_llama.cpp"

    def build(self, targets):
        return build_ik_llama(self.options.ik_llama, targets)

    def bench_at(self, context):
        return self.bench("-p", 0, "-n", 0, "-gp", f"{context},{self.options.decode_len}", "-r", 1)

    def rate_of_batch(self, command):
        """That of the S_TG column of its table, which goes to the standard error, and to a log in
        the working folder."""
        with tempfile.TemporaryDirectory() as folder:
            out = run(command, cwd=folder, errors_too=True)
        return self.table_rate(out)

    @staticmethod
    def table_rate(out):
        rows = [line.split("|")[1:-1] for line in out.splitlines() if line.startswith("|")]
        return float(rows[-1][[title.strip() for title in rows[0]].index("S_TG t/s")])


class Asked:
    """A peer that is a Python package: a program in its environment that loads the model once and
    answers "batch, tokens in, tokens out" by the seconds to the first token and to the last."""

    def __init__(self, command, options, environment=None):
        self.options = options
        print(f"{self.name}: loading the model", file=sys.stderr)
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if options.verbose else subprocess.DEVNULL, text=True,
            env={**os.environ, **(environment or {})})
        self.answer("load the model")

    def answer(self, to_do):
        """The next line that is meant for us; others are messages of its own."""
        for line in self.process.stdout:
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        sys.exit(f"{self.name} did not {to_do}; --verbose shows what it says")

    def ask(self, batch, tokens_in, tokens_out):
        self.process.stdin.write(json.dumps([batch, tokens_in, tokens_out]) + "\n")
        self.process.stdin.flush()
        return self.answer("answer")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


OPENVINO_PROGRAM = """
import json, sys, time
import numpy, openvino, openvino_genai as genai
model, threads = sys.argv[1], int(sys.argv[2])
scheduler = genai.SchedulerConfig()
scheduler.max_num_batched_tokens = 2048
scheduler.enable_prefix_caching = False
pipe = genai.ContinuousBatchingPipeline(model, scheduler, "CPU",
                                        {"INFERENCE_NUM_THREADS": threads})
random = numpy.random.default_rng(0)
def seconds(batch, tokens_in, tokens_out):
    config = genai.GenerationConfig()
    config.max_new_tokens = tokens_out
    config.ignore_eos = True
    ids = [openvino.Tensor(random.integers(0, 40000, (1, tokens_in))) for _ in range(batch)]
    start = time.monotonic()
    pipe.generate(ids, [config] * batch)
    return time.monotonic() - start
print("answer true", flush=True)
for line in sys.stdin:
    batch, tokens_in, tokens_out = json.loads(line)
    seconds(batch, tokens_in, 2)
    first = seconds(batch, tokens_in, 1)
    whole = seconds(batch, tokens_in, tokens_out) if tokens_out > 1 else first
    print("answer", json.dumps([first, whole]), flush=True)
"""


class OpenVino(Asked):
    name = "OpenVINO GenAI"

    def __init__(self, options):
        super().__init__([install_openvino(), "-c", OPENVINO_PROGRAM, options.model,
                          options.threads], options)

    def rate(self, batch, tokens_in, tokens_out):
        first, whole = self.ask(batch, tokens_in, tokens_out)
        return batch * (tokens_out - 1) / (whole - first)

    def prefill(self, tokens):
        return tokens / self.ask(1, tokens, 1)[0]

    def decode(self, context):
        return self.rate(1, context or BATCH_IN, self.options.decode_len)

    def batch(self, size):
        return self.rate(size, BATCH_IN, self.options.batch_len)


VLLM_PROGRAM = """
import json, sys, time
import numpy
from vllm import LLM, SamplingParams
def main(model, eager):
    llm = LLM(model, dtype="bfloat16", max_model_len=512, max_num_seqs=64,
              enforce_eager=eager == "True", enable_prefix_caching=False)
    random = numpy.random.default_rng(0)
    def seconds(batch, tokens_in, tokens_out):
        prompts = [{"prompt_token_ids": random.integers(0, 40000, tokens_in).tolist()}
                   for _ in range(batch)]
        sampling = SamplingParams(max_tokens=tokens_out, ignore_eos=True)
        start = time.monotonic()
        llm.generate(prompts, sampling, use_tqdm=False)
        return time.monotonic() - start
    print("answer true", flush=True)
    for line in sys.stdin:
        batch, tokens_in, tokens_out = json.loads(line)
        seconds(batch, tokens_in, 4)
        print("answer", json.dumps([None, seconds(batch, tokens_in, tokens_out)]), flush=True)
if __name__ == "__main__":
    main(*sys.argv[1:])
"""


class Vllm(Asked):
    name = "vLLM CPU bf16"

    def __init__(self, options):
        python = install_vllm()
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:options.threads]))
        # The OpenMP that its documentation wants, and no process of its own for the engine, which
        # would cost it time here.
        super().__init__(
            [python, "-c", VLLM_PROGRAM, options.bf16_model, options.vllm_eager], options,
            {"LD_PRELOAD": str(python.parents[1] / "lib" / "libiomp5.so"),
             "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_OMP_THREADS_BIND": cores,
             "VLLM_CPU_KVCACHE_SPACE": str(OFFLINE_CACHE_GIB), "VLLM_NO_USAGE_STATS": "1",
             "HF_HUB_OFFLINE": "1"})

    def offline(self):
        seconds = self.ask(OFFLINE_PROMPTS, OFFLINE_IN, OFFLINE_OUT)[1]
        return OFFLINE_PROMPTS * OFFLINE_OUT / seconds
