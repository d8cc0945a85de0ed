"""Runs the built program and looks at what it wrote and how it ended."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("QUIRE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
DATA = pathlib.Path(os.environ.get("QUIRE_TEST_DATA") or SOURCE.parent / "shared" / "data")
BINARY = os.environ.get("QUIRE_BINARY") or str(SOURCE / "build" / "dev" / "quire")
TINY = DATA / "models-tiny" / "llama-gqa-untied"
CACHE = pathlib.Path(os.environ.get("QUIRE_CACHE") or pathlib.Path.home() / ".cache" / "quire")
DEFAULT_MODEL = CACHE / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"

needs_tiny = unittest.skipUnless(TINY.is_dir(), f"{TINY} is absent")
needs_default = unittest.skipUnless(DEFAULT_MODEL.is_file(), f"{DEFAULT_MODEL} is absent")
needs_full_device = unittest.skipUnless(os.path.exists("/dev/full"), "/dev/full is absent")

# A long run on the tiny model: its context is stretched and no end token stops it.
LONG = ["--hf-overrides.max_position_embeddings", "200000", "--max-model-len", "200000",
        "--ignore-eos", "--max-tokens", "150000", "--temperature", "0"]


def environment(**changes):
    """An environment in which only the model cache is the user's own."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "QUIRE_CACHE": str(CACHE),
           "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    for name in ("QUIRE_CPU_ISA", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(changes)
    return env


class Run:
    """One run that has ended."""

    def __init__(self, args, stdin=b"", env=None, stdout=subprocess.PIPE, timeout=120, cwd=None):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run([BINARY, *map(str, args)], input=stdin, stdout=stdout,
                              stderr=subprocess.PIPE, env=env or environment(), timeout=timeout,
                              cwd=cwd, check=False)
        self.args = args
        self.code = done.returncode
        self.raw = done.stdout or b""
        self.out = self.raw.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class CliTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="quire_cli_")
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def ok(self, *args, **kwargs):
        run = Run(args, **kwargs)
        self.assertEqual(run.code, 0, f"{args}: {run.err}")
        return run

    def refused(self, *args, code=2, says=(), **kwargs):
        """The run ends with `code` and one sentence on standard error that holds `says`."""
        run = Run(args, **kwargs)
        self.assertEqual(run.code, code, f"{args}: {run.err}")
        self.assertTrue(run.err.startswith("quire: "), f"{args}: {run.err!r}")
        self.assertEqual(run.err.count("\n"), 1, f"{args}: {run.err!r}")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, run.err, args)
        return run

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def read_safetensors(path):
    """Names to (shape, list of floats)."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", entry
        begin, end = entry["data_offsets"]
        values = struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin:8 + length + end])
        tensors[name] = (entry["shape"], values)
    return tensors


def main():
    """unittest's main, with 77 for a run of which nothing could be tested."""
    program = unittest.main(exit=False, verbosity=1)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)
