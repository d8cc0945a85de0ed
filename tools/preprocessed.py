#!/usr/bin/env python3
"""Prints a source after preprocessing, by its entry in compile_commands.json."""

import json
import shlex
import subprocess
import sys


def main():
    database, wanted = sys.argv[1:3]
    with open(database) as stream:
        for entry in json.load(stream):
            if not entry["file"].endswith("/" + wanted):
                continue
            words = shlex.split(entry["command"])
            while words and not words[0].endswith(("g++", "clang++", "c++")):
                words.pop(0)  # the compiler launcher
            out = words.index("-o")
            del words[out : out + 2]
            words.remove("-c")
            return subprocess.run(words + ["-E", "-P"], cwd=entry["directory"], check=True).returncode
    return print(wanted)


if __name__ == "__main__":
    sys.exit(main())
