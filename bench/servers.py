#!/usr/bin/env python3
"""Drives quire serve and llama-server with the same load over the same GGUF file, in turns.

    bench/servers.py [--llama-server FILE] [--model FILE] [--rounds 2] [--seconds 5]

Without --llama-server it is built once from the source package of llama-cpp-python and kept in
~/.cache/quire/peers. Clients and server share the machine's cores; nothing else should run
meanwhile. The load is that of bench/server_bench: connections that ask again as soon as they have
their answer, with a probe of /health beside them, then idle connections. Figures are medians over
the rounds.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

from peer_packages import CACHE, DEFAULT_MODEL, ROOT, build_llama, run

CONTEXT = 512  # of one request

ROWS = (("one token", "answers_per_s", "answers of one token a second", 1),
        ("one token", "answer_p99_ms", "p99 of such an answer, ms", 1),
        ("one token", "health_p99_ms", "p99 of /health beside them, ms", 1),
        ("streams", "tokens_per_s", "streamed tokens a second", 0),
        ("streams", "health_p99_ms", "p99 of /health beside them, ms", 1),
        ("streams", "server_cores", "cores of the server meanwhile", 2),
        ("idle", "answered", "idle connections that it holds and answers", 0),
        ("idle", "server_mb", "its memory with them, MB", 0),
        ("idle", "kb_each", "of that a connection, kB", 1))


def built_llama_server():
    return build_llama(["llama-server"]) / "llama-server"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """A server process on a port of its own, ready when it is made."""

    def __init__(self, command, port):
        self.port = port
        self.log = (CACHE / "server_bench.log").open("wb")
        self.process = subprocess.Popen([str(part) for part in command], stdout=self.log,
                                        stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 120
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{command[0]} does not serve; see {self.log.name}")
            time.sleep(0.05)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as reply:
                return reply.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def serve_quire(options):
    port = free_port()
    return Served([options.quire, "serve", options.model, "--port", port, "--threads",
                   options.threads, "--max-num-seqs", options.connections, "--max-model-len",
                   CONTEXT, "--served-model-name", "model", "--disable-uvicorn-access-log"], port)


def serve_llama(options):
    port = free_port()
    slots = options.connections
    # One of its threads holds a connection as long as that is open.
    return Served([options.llama_server, "-m", options.model, "--port", port, "--host", "127.0.0.1",
                   "-t", options.threads, "-np", slots, "-c", slots * CONTEXT, "--threads-http",
                   options.connections + options.idle + 8, "--alias", "model", "--no-webui"], port)


SERVERS = {"quire": serve_quire, "llama-server": serve_llama}


def measure(serve, options):
    served = serve(options)
    try:
        out = run([options.bench, "--port", served.port, "--pid", served.process.pid, "--model",
                   "model", "--connections", options.connections, "--seconds", options.seconds,
                   "--tokens", options.tokens, "--idle", options.idle, "--json", 1])
    finally:
        served.stop()
    return {figures["what"]: figures for figures in map(json.loads, out.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-server", type=pathlib.Path)
    parser.add_argument("--servers", default="quire,llama-server")
    parser.add_argument("--quire", type=pathlib.Path, default=ROOT / "build" / "release" / "quire")
    parser.add_argument("--bench", type=pathlib.Path,
                        default=ROOT / "build" / "dev" / "bench" / "server_bench")
    parser.add_argument("--model", type=pathlib.Path, default=DEFAULT_MODEL)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=64, help="of a streamed answer")
    parser.add_argument("--idle", type=int, default=1000, help="idle connections")
    parser.add_argument("--seconds", type=float, default=5, help="of each load")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there too")
    options = parser.parse_args()
    for program in (options.quire, options.bench):
        if not program.is_file():
            sys.exit(f"{program} is absent: build it first, or name it")
    unknown = set(options.servers.split(",")) - set(SERVERS)
    if unknown:
        parser.error(f"no such server: {', '.join(sorted(unknown))}; there are {', '.join(SERVERS)}")
    servers = {name: SERVERS[name] for name in options.servers.split(",")}
    if "llama-server" in servers:
        options.llama_server = options.llama_server or built_llama_server()
    figures = {name: [] for name in servers}
    for number in range(options.rounds):
        for name, serve in servers.items():
            print(f"round {number + 1}: {name}", file=sys.stderr)
            figures[name].append(measure(serve, options))
    print(f"{options.model.name}, {options.threads} threads, {options.connections} connections, "
          f"{options.tokens} tokens a stream; medians of {options.rounds} rounds")
    print("| | " + " | ".join(servers) + " |\n|---|" + "---|" * len(servers))
    for what, member, title, digits in ROWS:
        medians = [statistics.median(one[what][member] for one in figures[name])
                   for name in servers]
        print(f"| {title} | " + " | ".join(f"{value:,.{digits}f}" for value in medians) + " |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
