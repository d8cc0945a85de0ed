"""Reads the header of a GGUF file and writes GGUF files, with nothing but Python's own library."""

import dataclasses
import math
import struct

# By number: name, values of a block, bytes of a block.
TYPES = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
         6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84),
         11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
         14: ("Q6_K", 256, 210), 20: ("IQ4_NL", 32, 18), 23: ("IQ4_XS", 256, 136),
         30: ("BF16", 1, 2), 39: ("MXFP4", 32, 17)}
TYPE_NUMBERS = {name: number for number, (name, _, _) in TYPES.items()}

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}
U32, F32, STRING, ARRAY = 4, 6, 8, 9
ALIGNMENT = 32


@dataclasses.dataclass
class TensorInfo:
    name: str
    shape: tuple  # the innermost dimension first, as the file has it
    type: str
    start: int  # in the file

    def values(self):
        return math.prod(self.shape)

    def bytes(self):
        _, values, size = TYPES[TYPE_NUMBERS[self.type]]
        return self.values() // values * size


class Gguf:
    """`fields` by name, `encoded` their bytes as the file has them, `tensors` by name."""

    def __init__(self, path):
        self.path = path
        self.fields, self.encoded, self.tensors = {}, {}, {}
        with open(path, "rb") as self.file:
            magic, version, num_tensors, num_fields = self.take("<4sIQQ")
            if magic != b"GGUF" or version not in (2, 3):
                raise ValueError(f"{path} is no GGUF file of version 2 or 3")
            for _ in range(num_fields):
                start = self.file.tell()
                name = self.string()
                self.fields[name] = self.value(*self.take("<I"))
                end = self.file.tell()
                self.file.seek(start)
                self.encoded[name] = self.file.read(end - start)
            infos = [self.tensor() for _ in range(num_tensors)]
            alignment = self.fields.get("general.alignment", ALIGNMENT)
            data = -(-self.file.tell() // alignment) * alignment
        for info in infos:
            info.start += data
            self.tensors[info.name] = info

    def take(self, form):
        size = struct.calcsize(form)
        read = self.file.read(size)
        if len(read) != size:
            raise ValueError(f"{self.path} ends within its header")
        return struct.unpack(form, read)

    def string(self):
        (size,) = self.take("<Q")
        return self.take(f"{size}s")[0].decode()

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            of, count = self.take("<IQ")
            if of in SCALARS:
                return list(self.take(f"<{count}{SCALARS[of]}"))
            return [self.value(of) for _ in range(count)]
        return self.take("<" + SCALARS[kind])[0]

    def tensor(self):
        name = self.string()
        (dimensions,) = self.take("<I")
        shape = self.take(f"<{dimensions}Q")
        number, offset = self.take("<IQ")
        if number not in TYPES:
            raise ValueError(f"{self.path}: {name} is of the unknown type {number}")
        return TensorInfo(name, shape, TYPES[number][0], offset)

    def field(self, name):
        """The field `name` of the file's architecture."""
        return self.fields[f"{self.fields['general.architecture']}.{name}"]


def encode_string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def encode_field(name, value):
    if isinstance(value, str):
        kind, encoded = STRING, encode_string(value)
    elif isinstance(value, float):
        kind, encoded = F32, struct.pack("<f", value)
    else:
        kind, encoded = U32, struct.pack("<I", value)
    return encode_string(name) + struct.pack("<I", kind) + encoded


def write(path, fields, tensors):
    """`fields`: encoded ones. `tensors`: (name, shape, type, function that gives the bytes)."""
    infos, offset = [], 0
    for name, shape, kind, _ in tensors:
        info = TensorInfo(name, tuple(shape), kind, offset)
        infos.append(info)
        offset += -(-info.bytes() // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(fields)))
        file.write(b"".join(fields))
        for info in infos:
            file.write(encode_string(info.name) + struct.pack("<I", len(info.shape))
                       + struct.pack(f"<{len(info.shape)}Q", *info.shape)
                       + struct.pack("<IQ", TYPE_NUMBERS[info.type], info.start))
        for info, (_, _, _, make) in zip(infos, tensors):
            file.write(bytes(-file.tell() % ALIGNMENT))
            made = make()
            if len(made) != info.bytes():
                raise ValueError(f"{info.name}: {len(made)} bytes where {info.bytes()} belong")
            file.write(made)
