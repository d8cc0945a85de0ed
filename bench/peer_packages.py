"""Where peers are kept, and how llama.cpp is built from the source package of llama-cpp-python."""

import os
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("QUIRE_CACHE") or pathlib.Path.home() / ".cache" / "quire")
LLAMA = "llama-cpp-python==0.3.36"
DEFAULT_MODEL = CACHE / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def peer_folder(package):
    return CACHE / "peers" / package.replace("==", "-")


def build_llama(targets):
    """Builds what of the targets is absent; gives the folder of the programs."""
    folder = peer_folder(LLAMA)
    build = folder / "build"
    programs = build / "bin"
    if all((programs / target).is_file() for target in targets):
        return programs
    print(f"building {', '.join(targets)} of {LLAMA}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*/vendor/llama.cpp")):
        run([sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:",
             "--no-build-isolation", "--dest", folder, LLAMA])
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    source = next(folder.glob("*/vendor/llama.cpp"))
    run(["cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
         "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF",
         "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_BUILD_SERVER=ON"])
    run(["cmake", "--build", build, "--target", *targets])
    return programs
