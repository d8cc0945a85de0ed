#!/usr/bin/env python3
"""Checks that each folder of src/ includes only what src/LAYERS allows it to."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"


def read_layers():
    layers = {}
    for line in (SRC / "LAYERS").read_text().splitlines():
        name, _, rest = line.partition(":")
        above = [dep for dep in rest.split() if dep not in layers]
        if above:
            sys.exit(f"src/LAYERS: {name} names {', '.join(above)}, which is not above it")
        layers[name] = set(rest.split()) | {name}
    return layers


def closure(layers):
    """What a folder's test may include: all that its library links."""
    whole = {}
    for name, direct in layers.items():
        whole[name] = direct.union(*(whole[dep] for dep in direct if dep != name))
    return whole


def main():
    layers = read_layers()
    whole = closure(layers)
    faults = []
    for path in sorted(SRC.rglob("*")):
        if path.suffix not in (".h", ".cc", ".cu"):
            continue
        folder = path.relative_to(SRC).parts[0]
        allowed = (whole if path.stem.endswith(("_test", "testing")) else layers).get(folder)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([a-z0-9_]+)/', line)
            if not match or match[1] == "quire":
                continue
            if allowed is None or match[1] not in allowed:
                faults.append(f"{path.relative_to(ROOT)}:{number}: {folder} may not include {match[1]}")
    for path in sorted((ROOT / "include").rglob("*.h")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r'\s*#\s*include\s+"(?!quire/)', line):
                faults.append(f"{path.relative_to(ROOT)}:{number}: include/quire may not include src")
    print("\n".join(faults) if faults else f"{len(layers)} folders obey src/LAYERS")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
