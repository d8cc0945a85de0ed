#!/usr/bin/env python3
"""Times Quire beside its peers on one GGUF file, in turns (A B A B), on the same cores.

    bench/peers.py [--model FILE] [--peers llama.cpp,openvino] [--rounds 3] [--threads 2]

Peers come from PyPI: llama.cpp is built from the source package of llama-cpp-python, OpenVINO GenAI
is installed into a virtual environment; both are kept in ~/.cache/quire/peers. Nothing else should
run meanwhile. The figures are medians over the rounds; each stands beside what memory and
arithmetic of the machine gave in the same run.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from peer_packages import DEFAULT_MODEL, ROOT, build_llama, peer_folder, run

OPENVINO = "openvino-genai==2026.4.1.0"

PREFILL, DECODE = 512, 128
BATCHES = (16, 64)
BATCH_IN, BATCH_OUT = 16, 64


class Quire:
    name = "quire"

    def __init__(self, options):
        self.options = options
        self.binary = ROOT / "build" / "release" / "quire"
        if not self.binary.is_file():
            sys.exit(f"{self.binary} is absent: run make build first")

    def latency(self, batch, tokens_in, tokens_out):
        return json.loads(run([
            self.binary, "bench", "latency", self.options.model, "--threads",
            self.options.threads, "--batch-size", batch, "--input-len", tokens_in, "--output-len",
            tokens_out, "--num-iters-warmup", 1, "--num-iters", 2, "--json"]))

    def prefill(self):
        return self.latency(1, PREFILL, 1)["prefill_tokens_per_s"]

    def decode(self):
        return self.latency(1, BATCH_IN, DECODE)["decode_tokens_per_s"]

    def batch(self, size):
        return self.latency(size, BATCH_IN, BATCH_OUT)["decode_tokens_per_s"]

    def machine(self):
        return json.loads(run([self.binary, "bench", "machine", "--threads", self.options.threads,
                               "--json"]))


class Llama:
    name = "llama.cpp"

    def __init__(self, options):
        self.options = options
        self.programs = build_llama(["llama-bench", "llama-batched-bench"])

    def bench(self, prompt, generate):
        out = run([self.programs / "llama-bench", "-m", self.options.model, "-t",
                   self.options.threads, "-p", prompt, "-n", generate, "-r", 2, "-o", "json"])
        return json.loads(out)[0]["avg_ts"]

    def prefill(self):
        return self.bench(PREFILL, 0)

    def decode(self):
        return self.bench(0, DECODE)

    def batch(self, size):
        context = size * (BATCH_IN + BATCH_OUT)
        out = run([self.programs / "llama-batched-bench", "-m", self.options.model, "-t",
                   self.options.threads, "-c", context, "-npp", BATCH_IN, "-ntg", BATCH_OUT,
                   "-npl", size, "--output-format", "jsonl"])
        return json.loads(out.strip().splitlines()[-1])["speed_tg"]


# Runs inside the virtual environment; one JSON line a question.
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
print("ready", flush=True)
for line in sys.stdin:
    batch, tokens_in, tokens_out = json.loads(line)
    seconds(batch, tokens_in, 2)
    first = seconds(batch, tokens_in, 1)
    print(json.dumps([first, seconds(batch, tokens_in, tokens_out) if tokens_out > 1 else first]),
          flush=True)
"""


class OpenVino:
    name = "OpenVINO GenAI"

    def __init__(self, options):
        folder = peer_folder(OPENVINO)
        python = folder / "bin" / "python"
        if not python.is_file():
            print(f"installing {OPENVINO}", file=sys.stderr)
            run([sys.executable, "-m", "venv", folder])
            run([python, "-m", "pip", "install", "--quiet", OPENVINO, "numpy"])
        self.process = subprocess.Popen(
            [str(python), "-c", OPENVINO_PROGRAM, str(options.model), str(options.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("OpenVINO GenAI does not load the model")

    def ask(self, batch, tokens_in, tokens_out):
        self.process.stdin.write(json.dumps([batch, tokens_in, tokens_out]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("OpenVINO GenAI ended before it answered")
        return json.loads(answer)

    def rate(self, batch, tokens_in, tokens_out):
        first, whole = self.ask(batch, tokens_in, tokens_out)
        return batch * (tokens_out - 1) / (whole - first)

    def prefill(self):
        return PREFILL / self.ask(1, PREFILL, 1)[0]

    def decode(self):
        return self.rate(1, BATCH_IN, DECODE)

    def batch(self, size):
        return self.rate(size, BATCH_IN, BATCH_OUT)


PEERS = {"llama.cpp": Llama, "openvino": OpenVino}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=DEFAULT_MODEL)
    parser.add_argument("--peers", default="llama.cpp,openvino")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there too")
    options = parser.parse_args()
    unknown = set(options.peers.split(",")) - set(PEERS)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    quire = Quire(options)
    engines = [quire] + [PEERS[name](options) for name in options.peers.split(",")]
    questions = {f"prefill {PREFILL}": lambda engine: engine.prefill(),
                 "decode, one stream": lambda engine: engine.decode()}
    for size in BATCHES:
        questions[f"decode, batch {size}"] = lambda engine, size=size: engine.batch(size)
    figures = {question: {engine.name: [] for engine in engines} for question in questions}
    limits = []
    for number in range(options.rounds):
        limits.append(quire.machine())
        for question, ask in questions.items():
            for engine in engines:
                print(f"round {number + 1}: {question}, {engine.name}", file=sys.stderr)
                figures[question][engine.name].append(ask(engine))
    memory = statistics.median(limit["memory_gb_per_s"] for limit in limits)
    print(f"{options.model.name}, {options.threads} threads, {limits[0]['isa']}, "
          f"memory read {memory:.1f} GB/s; tokens/s, medians of {options.rounds} rounds")
    print("| |" + "".join(f" {engine.name} |" for engine in engines)
          + "".join(f" against {engine.name} |" for engine in engines[1:]))
    print("|---|" + "---|" * (2 * len(engines) - 1))
    for question, by_engine in figures.items():
        medians = [statistics.median(by_engine[engine.name]) for engine in engines]
        print(f"| {question} |" + "".join(f" {value:.0f} |" for value in medians)
              + "".join(f" {medians[0] / value:.2f}× |" for value in medians[1:]))
    if options.json:
        options.json.write_text(json.dumps({"machine": limits, "figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
