#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.cc from Debian's package unicode-data.

    python3 tools/make_unicode_tables.py [/usr/share/unicode] > src/tokenizer/unicode_tables.cc

The layouts are described in src/tokenizer/unicode_tables.h.
"""

import pathlib
import re
import sys

CATEGORIES = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co".split()
BREAKS = ["Other", "CR", "LF", "Control", "Extend", "ZWJ", "SpacingMark", "Prepend", "Regional_Indicator",
          "L", "V", "T", "LV", "LVT"]
SIZE = 0x110000
BLOCK = 128


def lines(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            yield [field.strip() for field in line.split(";")]


def code_range(text):
    first, _, last = text.partition("..")
    return int(first, 16), int(last or first, 16)


def properties(path, names=None):
    """Code point -> property name, for a file of `range ; name` lines."""
    out = {}
    for fields in lines(path):
        if names is None or fields[1] in names:
            first, last = code_range(fields[0])
            for code in range(first, last + 1):
                out[code] = fields[1]
    return out


def age_class(age):
    """0: in Unicode 8.0, 1: since 9.0, 2: since 10.0 to 14.0, 3: since 15.0 or later."""
    major = int(age.split(".")[0])
    return 0 if major <= 8 else 1 if major == 9 else 2 if major <= 14 else 3


class Database:
    def __init__(self, root):
        self.category = ["Cn"] * SIZE
        self.combining, self.canonical, self.compatible = {}, {}, {}
        self.lower, self.upper, self.title = {}, {}, {}
        self.read_main(root / "UnicodeData.txt")
        self.white = properties(root / "PropList.txt", {"White_Space"})
        self.alphabetic = properties(root / "DerivedCoreProperties.txt", {"Alphabetic"})
        self.cased = properties(root / "DerivedCoreProperties.txt", {"Cased"})
        self.case_ignorable = properties(root / "DerivedCoreProperties.txt", {"Case_Ignorable"})
        self.scripts = properties(root / "Scripts.txt")
        self.breaks = properties(root / "auxiliary" / "GraphemeBreakProperty.txt")
        self.pictographic = properties(root / "emoji" / "emoji-data.txt", {"Extended_Pictographic"})
        self.special = {}
        for fields in lines(root / "SpecialCasing.txt"):
            if len(fields) == 5:  # a sixth field is a condition
                self.special[int(fields[0], 16)] = [[int(c, 16) for c in f.split()] for f in fields[1:4]]
        self.read_normalization(root / "DerivedNormalizationProps.txt")
        self.ages = {c: age_class(a) for c, a in properties(root / "DerivedAge.txt").items()}
        self.read_additions(pathlib.Path(__file__).with_name("unicode_additions.txt"))

    def read_additions(self, path):
        for fields in lines(path):
            first, last = code_range(fields[0])
            for code in range(first, last + 1):
                if fields[1].startswith("lower "):
                    self.lower[code] = int(fields[1][6:], 16)
                    continue
                self.category[code] = fields[1]
                self.ages[code] = 3
                if code >= 0x20000:  # the planes of ideographs
                    self.scripts[code] = "Han"

    def read_main(self, path):
        first = None
        for line in path.read_text().splitlines():
            fields = line.split(";")
            code = int(fields[0], 16)
            if fields[1].endswith(", First>"):
                first = code
                continue
            for c in range(first if first is not None else code, code + 1):
                self.category[c] = fields[2]
            first = None
            if fields[3] != "0":
                self.combining[code] = int(fields[3])
            if fields[5]:
                kind, codes = re.match(r"(<\w+> )?(.*)", fields[5]).groups()
                (self.compatible if kind else self.canonical)[code] = [int(c, 16) for c in codes.split()]
            for table, text in ((self.upper, fields[12]), (self.lower, fields[13]), (self.title, fields[14])):
                if text:
                    table[code] = int(text, 16)

    def read_normalization(self, path):
        self.excluded, self.nfc_no, self.nfkc_no = set(), set(), set()
        for fields in lines(path):
            first, last = code_range(fields[0])
            codes = range(first, last + 1)
            if fields[1] == "Full_Composition_Exclusion":
                self.excluded.update(codes)
            elif fields[1] == "NFC_QC":
                self.nfc_no.update(codes)
            elif fields[1] == "NFKC_QC":
                self.nfkc_no.update(codes)

    def decompose(self, code, compatible):
        parts = self.canonical.get(code) or (compatible and self.compatible.get(code))
        if not parts:
            return [code]
        return [c for part in parts for c in self.decompose(part, compatible)]


def numbers(values):
    out, line = [], ""
    for value in values:
        text = f"{value},"
        if len(line) + len(text) > 98:
            out.append(line)
            line = ""
        line += text
    return "\n".join(out + [line])


def rows(table):
    """Each row in braces; nested rows too."""
    def row(values):
        return "{" + ",".join(row(v) if isinstance(v, (list, tuple)) else str(v) for v in values) + "}"
    return numbers(row(values) for values in table)


def array(kind, name, values):
    values = list(values)
    print(f"const {kind} {name}[{len(values)}] = {{\n{numbers(values)}\n}};\n")


def trie(name, kind, values):
    """Two stages: block numbers, then the distinct blocks."""
    blocks, index = {}, []
    for start in range(0, SIZE, BLOCK):
        index.append(blocks.setdefault(tuple(values[start:start + BLOCK]), len(blocks)))
    assert len(blocks) < 65536
    array("std::uint8_t" if len(blocks) <= 256 else "std::uint16_t", f"{name}Index", index)
    array(kind, f"{name}Blocks", [value for block in blocks for value in block])


def ranges(values):
    """(first, last, value) of the runs in a dict of code points."""
    out = []
    for code in sorted(values):
        if out and out[-1][1] == code - 1 and out[-1][2] == values[code]:
            out[-1][1] = code
        else:
            out.append([code, code, values[code]])
    return out


def range_table(name, found):
    print(f"const CodeRange {name}[{len(found)}] = {{\n{rows(found)}\n}};")
    print(f"const int {name}Count = {len(found)};\n")


def case_ranges(table):
    """Runs of one step (1 or 2) with the same distance: (first, last, step, distance)."""
    out = []
    for code in sorted(table):
        distance = table[code] - code
        if out and out[-1][3] == distance:
            step = code - out[-1][1]
            if step in (1, 2) and (out[-1][2] in (0, step)):
                out[-1][1], out[-1][2] = code, step
                continue
        out.append([code, code, 0, distance])
    return [[a, b, s or 1, d] for a, b, s, d in out]


def case_table(name, table):
    found = case_ranges(table)
    print(f"const CaseRange {name}[{len(found)}] = {{\n{rows(found)}\n}};")
    print(f"const int {name}Count = {len(found)};\n")


def special_table(data):
    table = [[code] + [(part + [0, 0, 0])[:3] for part in data.special[code]] for code in sorted(data.special)]
    print(f"const SpecialCase kSpecialCases[{len(table)}] = {{\n{rows(table)}\n}};")
    print(f"const int kSpecialCasesCount = {len(data.special)};\n")


def script_names(data):
    names = sorted(set(data.scripts.values()))
    print(f"const char* const kScriptNames[{len(names)}] = {{")
    print("\n".join(f'"{name}",' for name in names) + "\n};")
    print(f"const int kScriptNamesCount = {len(names)};\n")
    return {name: i for i, name in enumerate(names)}


def decompositions(data):
    """Flags a code point, and pools of what it decomposes into."""
    hangul = range(0xAC00, 0xD7A4)
    pool, entries, flags = [], [], [0] * SIZE
    number = [0] * SIZE
    known = {}
    for code in sorted(set(data.canonical) | set(data.compatible)):
        parts = [data.decompose(code, False), data.decompose(code, True)]
        entry = []
        for part in parts:
            key = tuple(part)
            if key not in known:
                known[key] = len(pool)
                pool.extend(part)
            entry += [known[key], len(part)]
        entries.append(entry)
        number[code] = len(entries)
    for code in range(SIZE):
        changes = (code in data.canonical or code in hangul) | (code in data.compatible) << 1
        flags[code] = changes | (code in data.nfc_no) << 2 | (code in data.nfkc_no) << 3
    trie("kNormalFlags", "std::uint8_t", flags)
    trie("kCombiningClass", "std::uint8_t", [data.combining.get(c, 0) for c in range(SIZE)])
    trie("kDecomposition", "std::uint16_t", number)
    print(f"const DecompositionEntry kDecompositions[{len(entries)}] = {{\n{rows(entries)}\n}};\n")
    array("char32_t", "kDecompositionPool", pool)


def compositions(data):
    table = sorted((parts[0], parts[1], code) for code, parts in data.canonical.items()
                   if len(parts) == 2 and code not in data.excluded)
    print(f"const Composition kCompositions[{len(table)}] = {{\n{rows(table)}\n}};")
    print(f"const int kCompositionsCount = {len(table)};\n")


def word(data, code):
    return (code in data.alphabetic or code in (0x200C, 0x200D)
            or data.category[code][0] in "LM" or data.category[code] in ("Nd", "Nl", "Pc"))


def main():
    data = Database(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"))
    print("// Written by tools/make_unicode_tables.py; not edited by hand.\n"
          '#include "tokenizer/unicode_tables.h"\n\n// clang-format off\nnamespace quire::unicode {\n')
    number = {name: i for i, name in enumerate(CATEGORIES)}
    trie("kProperties", "std::uint8_t",
         [number[data.category[c]] | (c in data.white) << 5 | word(data, c) << 6 for c in range(SIZE)])
    scripts = script_names(data)
    range_table("kScripts", ranges({c: scripts[s] for c, s in data.scripts.items()}))
    range_table("kGraphemeBreaks", ranges({c: BREAKS.index(b) for c, b in data.breaks.items()}))
    range_table("kAges", ranges({c: a for c, a in data.ages.items() if a}))
    range_table("kPictographic", ranges({c: 1 for c in data.pictographic}))
    cased = {c: (c in data.cased) | (c in data.case_ignorable) << 1
             for c in set(data.cased) | set(data.case_ignorable)}
    range_table("kCasing", ranges(cased))
    case_table("kLower", data.lower)
    case_table("kUpper", data.upper)
    case_table("kTitle", {c: t for c, t in data.title.items() if t != data.upper.get(c)})
    special_table(data)
    decompositions(data)
    compositions(data)
    print("}  // namespace quire::unicode\n// clang-format on")


if __name__ == "__main__":
    main()
