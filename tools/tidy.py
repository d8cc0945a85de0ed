#!/usr/bin/env python3
"""clang-tidy over every source of src/ and apps/.

    tools/tidy.py [FILE ...]

A source that passed is not read again until its preprocessed text or the checks change (marks in
the cache folder). Reads the clang preset's compile commands; kernels of other processors and tests
are left out.

Most of the time goes into the headers of the standard library, so sources with the same flags are
read several at once, their texts one after another in one translation unit. Where that unit has
findings, or does not compile because two sources use one name, it is split; what one source alone
says is what counts. Sources below a .clang-tidy of their own are read one by one.
"""

import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATABASE = os.path.join(ROOT, "build/clang/compile_commands.json")
MARKS = os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "quire/tidy"
)
TOGETHER = 6  # sources read at once
LEFT_OUT = re.compile(r"^src/kernels/neon|_test(_[a-z]+)?\.cc$|test_main\.cc$")


def compile_flags():
    """The compiler and flags of each source, by its path from the root."""
    flags = {}
    with open(DATABASE) as stream:
        for entry in json.load(stream):
            words = shlex.split(entry["command"])
            first = next(i for i, word in enumerate(words) if word.endswith("++"))
            last = words.index("-o")
            path = os.path.relpath(entry["file"], ROOT)
            flags.setdefault(path, tuple(words[first:last]))
    return flags


def checks_above(path):
    """The texts of the .clang-tidy files above a source, the nearest first, the root's last."""
    texts = []
    while path:
        path = os.path.dirname(path)
        file = os.path.join(ROOT, path, ".clang-tidy")
        if os.path.exists(file):
            with open(file, "rb") as stream:
                texts.append(stream.read())
    return texts


def mark_of(path, flags):
    """The file that is there once this text of the source has passed."""
    text = subprocess.run(
        [*flags, "-E", "-P", path], cwd=ROOT, check=True, capture_output=True
    ).stdout
    # __FILE__ names the folder of the checkout, which does not matter.
    text = text.replace(ROOT.encode(), b"")
    return os.path.join(MARKS, hashlib.sha256(text + b"".join(checks_above(path))).hexdigest())


def write_unit(paths, stream):
    """The texts of the sources, each with a macro before it: that makes
    readability-duplicate-include forget what the one before has included."""
    for number, path in enumerate(paths):
        with open(os.path.join(ROOT, path)) as source:
            stream.write(f"#define QUIRE_SOURCE_{number}\n{source.read()}\n")


def findings(paths, flags, folder):
    """What clang-tidy says of the sources read together; empty where they pass."""
    unit = os.path.join(ROOT, paths[0])
    options = ["--quiet"]
    if len(paths) > 1:
        unit = os.path.join(folder, paths[0].replace("/", "_"))
        options.append(f"--config-file={ROOT}/.clang-tidy")  # the unit lies outside the tree
        with open(unit, "w") as stream:
            write_unit(paths, stream)
    run = subprocess.run(
        ["clang-tidy", *options, unit, "--", *flags[1:]], cwd=ROOT, capture_output=True, text=True
    )
    return run.stdout + run.stderr if run.returncode else ""


def check(paths, flags, marks, folder):
    """Checks sources that share their flags; returns how many have findings."""
    said = findings(paths, flags, folder)
    if not said:
        for path in paths:
            open(marks[path], "w").close()
        return 0
    if len(paths) == 1:
        print(f"{said}\ntidy: {paths[0]} has findings", flush=True)
        return 1
    half = len(paths) // 2
    return sum(check(part, flags, marks, folder) for part in (paths[:half], paths[half:]))


def main():
    flags = compile_flags()
    paths = sys.argv[1:] or [
        path for path in flags if path.startswith(("src/", "apps/")) and not LEFT_OUT.search(path)
    ]
    unknown = [path for path in paths if path not in flags]
    if unknown:
        sys.exit(f"tidy: the clang preset does not compile {', '.join(unknown)}")
    os.makedirs(MARKS, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, \
            tempfile.TemporaryDirectory() as folder:
        marks = dict(zip(paths, pool.map(lambda path: mark_of(path, flags[path]), paths)))
        groups = collections.defaultdict(list)
        for path in paths:
            if not os.path.exists(marks[path]):
                groups[flags[path], len(checks_above(path)) > 1].append(path)
        units = []
        for (shared, alone), group in groups.items():
            size = 1 if alone else TOGETHER
            units += [(group[at : at + size], shared) for at in range(0, len(group), size)]
        failed = sum(pool.map(lambda unit: check(*unit, marks, folder), units))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
