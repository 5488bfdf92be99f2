"""Regenerates ``torchmigrate/tables/data/requirements.json`` from the published wheels.

    python tools/read_requirements.py [--since 2023-06] [--add] [--only xformers …]

For each project below: which torch each of its releases requires (``Requires-Dist`` in the wheel's ``METADATA``),
since which release it has a wheel for which Python, and, for the packages that move together with torch, everything
else that they require. Only the needed members of a wheel travel; see `tools.read_wheels.open_wheel`.

A row of ``torch`` holds from its release up to the next row's: an empty specifier is any torch, null none at all. For
the projects of `STEADY` a range of releases is only read at its ends where these agree.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from tools.read_wheels import DATA, ENVIRONMENTS, open_wheel, write

FAMILY = ("torch", "torchvision", "torchaudio", "triton")
"""Packages that are upgraded together with torch; all requirements of their newest releases are read."""

LINKED = tuple(
    """
    fbgemm-gpu intel-extension-for-pytorch natten sgl-kernel sglang tensordict torch-npu torch-tensorrt torch-xla
    torchao torchaudio torchcodec torchcomms torchdata torchrec torchrl torchtext torchvision vllm xformers
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""Packages made for one torch, or compiled against it; every release is read, since each can require another torch."""

STEADY = tuple(
    """
    absl-py accelerate addict aiohttp albumentations anthropic antialiased-cnns antlr4-python3-runtime ase
    asteroid attrs audio-separator autopage av backoff basicsr bcrypt biopython bitsandbytes black boto3
    botorch braceexpand bs4 build catboost category-encoders celery certifi cffi charset-normalizer chromadb
    clean-fid click clip-interrogator cloudpickle cmake cmd2 colorama coloredlogs colorlog colossalai compel
    compressed-tensors controlnet-aux coqui-tts coverage cryptography cython dataclasses-json datasets
    datasketch decorator decord deepspeed demucs dex-retargeting diffusers dill docutils e3nn easydict
    editdistance einops einx encodec evaluate face-alignment facexlib fair-esm fairscale faiss-cpu fastapi
    faster-whisper ffmpeg-python filelock fire flair flake8 flake8-bugbear flake8-quotes flask fsspec ftfy
    future fvcore g2p-en gdown geomstats gitpython gliner gpytorch gradio gradio-client grpcio gymnasium
    h5py hatchling hf-transfer hf-xet httpx huggingface-hub hydra-colorlog hydra-core hydra-optuna-sweeper
    hydra-zen hypothesis icecream idna imageio imageio-ffmpeg imbalanced-learn importlib-metadata inflect
    insightface iopath ipdb ipykernel ipython ipywidgets isort jax jaxlib jaxtyping jieba jinja2 jiwer
    joblib json-repair jsonargparse jsonlines jsonschema julius jupyter jupyterlab jupyterlab-pygments
    jupyterlab-widgets k-diffusion kagglehub keras kornia langchain langchain-community langchain-core
    langdetect librosa liger-kernel lightgbm lightning lightning-utilities lion-pytorch litellm lm-eval lmdb
    loguru lpips markdown markdown2 matplotlib mdtraj mediapipe mlflow mmengine mock modelscope monai mpi4py
    msgpack msgspec musdb mypy myst-parser nbsphinx networkx nflows nibabel ninja nltk notebook nox numba
    numpy numpydoc nvidia-ml-py ogb omegaconf onnx onnxruntime onnxruntime-gpu onnxscript opacus
    open-clip-torch open3d openai openai-whisper opencv-contrib-python opencv-python opencv-python-headless
    openpyxl openslide-python optimum optimum-quanto orjson packaging pandas parameterized passlib
    pdfminer-six peft pesq pgmpy phonemizer pillow pip pip-tools plotly plyfile polars
    praat-parselmouth pre-commit prettytable prometheus-client protobuf psutil psycopg2-binary py-cpuinfo
    py7zr pyarrow pyaudio pybind11 pycocotools pydantic pydeck pydicom pydub pygments pyloudnorm pymatting
    pyngrok pynvml pypdf pypinyin pyrootutils pysbd pystoi pytest pytest-asyncio pytest-benchmark pytest-cov
    pytest-mock pytest-timeout pytest-xdist python-dateutil python-dotenv python-multipart pytorch-fid
    pytorch-ignite pytorch-lightning pytorch-metric-learning pytorch-msssim pytorch-ranger pytz pywin32
    pyworld pyyaml pyzmq qdrant-client qwen-vl-utils ray rdkit regex rembg requests resampy rich roboflow
    rootutils rotary-embedding-torch rouge rouge-score ruff runpod s3fs sacrebleu sacremoses safetensors
    samplerate scikit-image scikit-learn scipy seaborn segmentation-models-pytorch send2trash
    sentence-transformers sentencepiece sentry-sdk setuptools setuptools-scm shortuuid simpleitk six skorch
    sounddevice soundfile soxr spacy speechbrain sphinx sphinx-rtd-theme sqlalchemy sqlmodel sse-starlette
    statsmodels streamlit supervision sympy tabulate tenacity tensorboard tensorboard-data-server
    tensorboardx tensorflow termcolor thop tifffile tiktoken timm tokenizers toml tomli torch-ema
    torch-fidelity torch-geometric torch-optimizer torchcrepe torchdiffeq torchinfo torchio torchlibrosa
    torchmetrics torchsde torchsummary torchsummaryx tox tqdm transformers trimesh trio trl twine typer
    typing-extensions tyro tzdata ultralytics unidecode urllib3 uvicorn uvloop vector-quantize-pytorch
    virtualenv visdom wandb webdataset webrtcvad websockets wheel x-transformers xgboost xgrammar xxhash
    yacs yapf zarr zstandard
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""Packages that projects commonly pin beside torch, and that are not compiled against it."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
SIMPLE = "application/vnd.pypi.simple.v1+json"


def files(project: str) -> list[dict[str, Any]]:
    """Return the files of a project on the index, in the form of PEP 691."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    request = urllib.request.Request(f"{index}/{project}/", headers={"Accept": SIMPLE})
    with urllib.request.urlopen(request, timeout=60) as reply:
        page: dict[str, Any] = json.load(reply)
    return [file for file in page["files"] if not file.get("yanked")]


def wheels(project: str, since: str) -> dict[Version, str]:
    """Return the URL of one wheel of each stable release since a day, for Linux if there is one."""
    found: dict[Version, str] = {}
    for file in files(project):
        if file.get("upload-time", since) < since or not file["filename"].endswith(".whl"):
            continue
        try:
            name, version, _, tags = parse_wheel_filename(file["filename"])
        except (InvalidWheelFilename, InvalidVersion):
            continue
        if name != canonicalize_name(project) or version.is_prerelease or version.local:
            continue
        if any(tag.platform == "any" or tag.platform.endswith("linux_x86_64") for tag in tags) or any(
            "manylinux" in tag.platform and tag.platform.endswith("x86_64") for tag in tags
        ):
            found[version] = file["url"]
    return found


def pythons(project: str) -> dict[str, str]:
    """Return the first release with a Linux wheel for each Python; empty if the wheels fit any Python."""
    first: dict[str, Version] = {}
    for file in files(project):
        try:
            if file["filename"].endswith(".whl"):
                _, version, _, tags = parse_wheel_filename(file["filename"])
            else:
                parse_sdist_filename(file["filename"])
                continue
        except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
            continue
        if version.is_prerelease:
            continue
        for python in PYTHONS:
            if any(_serves(tag.interpreter, tag.abi, tag.platform, python) for tag in tags):
                first[python] = min(version, first.get(python, version))
    return {python: str(version) for python, version in first.items()}


def _serves(interpreter: str, abi: str, platform: str, python: str) -> bool:
    """Return whether a Python on Linux, x86_64, can install a wheel with this tag."""
    if not (platform == "any" or ("linux" in platform and platform.endswith("x86_64"))):
        return False
    number = python.replace(".", "")
    if interpreter.startswith("py"):
        return interpreter in ("py3", f"py{number}")
    if interpreter == f"cp{number}":
        return not abi.endswith("t")
    found = re.fullmatch(r"cp3(\d+)", interpreter)
    return abi == "abi3" and found is not None and int(found[1]) <= int(number[1:])


def requirements(url: str) -> list[Requirement]:
    """Return the requirements of a wheel."""
    wheel = open_wheel(url, 1 << 16)
    name = next(n for n in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
    headers = HeaderParser().parsestr(wheel.read(name).decode())
    found = []
    for line in headers.get_all("Requires-Dist") or []:
        with contextlib.suppress(InvalidRequirement):  # of a release that was made with old tools
            found.append(Requirement(line))
    return found


def applying(asked: list[Requirement], *, extras: bool = False) -> list[Requirement]:
    """Return the requirements that apply on Linux with Python 3.12; with ``extras`` also the ones of any extra."""
    environment = {"python_version": "3.12", "python_full_version": "3.12.1", **ENVIRONMENTS["linux_x86_64"]}
    names = {""} | (
        {e for r in asked for e in re.findall(r"extra == ['\"]([^'\"]+)", str(r.marker))} if extras else set()
    )
    return [
        r
        for r in asked
        if r.marker is None or any(r.marker.evaluate({**environment, "extra": n}) for n in names)
    ]


def torch_of(project: str, url: str) -> str | None:
    """Return the specifier of a wheel's requirement on torch, or None. Some releases of sglang have it in an extra."""
    for requirement in applying(requirements(url), extras=project == "sglang"):
        if requirement.name == "torch":
            return str(requirement.specifier)
    return None


def ranges(project: str, since: str, *, each: bool) -> list[tuple[str, str | None]]:
    """Return the first release of each range of releases that requires another torch than the range before."""
    found = wheels(project, since)
    order = sorted(found)
    known: dict[int, str | None] = {}

    def read(number: int) -> str | None:
        if number not in known:
            known[number] = torch_of(project, found[order[number]])
        return known[number]

    def fill(first: int, last: int) -> None:
        if last - first < 2:
            return
        if not each and read(first) == read(last):
            known.update(dict.fromkeys(range(first + 1, last), read(first)))
            return
        middle = (first + last) // 2
        read(middle)
        fill(first, middle)
        fill(middle, last)

    if not order:
        return []
    read(0), read(len(order) - 1)
    fill(0, len(order) - 1)
    rows: list[tuple[str, str | None]] = []
    for number, version in enumerate(order):
        if not rows or rows[-1][1] != known[number]:
            rows.append((str(version), known[number]))
    return rows


def row(project: str, since: str) -> dict[str, Any]:
    """Return the row of a project; a steady one is read from its first years on."""
    each = project in LINKED or project in FAMILY
    since = since if each else "2019"
    made: dict[str, Any] = {"project": project, "linked": project in LINKED}
    if project not in ("torch", "triton"):
        made["torch"] = ranges(project, since, each=each)
    made["newest"] = str(max(wheels(project, since), default=""))
    made["pythons"] = pythons(project)
    if project in FAMILY:
        newest: dict[tuple[int, int], Version] = {}
        for version in sorted(found := wheels(project, since)):
            newest[version.major, version.minor] = version
        made["requires"] = {
            str(v): sorted(f"{r.name}{r.specifier}" for r in applying(requirements(found[v])))
            for v in newest.values()
        }
    made["evidence"] = "wheel"
    made["source"] = f"the Python Package Index: METADATA in the wheels of {project} since {since}"
    print(project, len(made.get("torch", ())), file=sys.stderr, flush=True)
    return made


def _read_row(project: str, since: str) -> dict[str, Any] | None:
    """Return the row of a project; None for one that the index lacks, which is reported."""
    try:
        return row(project, since)
    except urllib.error.HTTPError as error:
        print(f"{project}: {error}", file=sys.stderr, flush=True)
        return None


def main() -> None:
    """Read the index and write the table; with ``--only`` print the rows of some projects instead."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--since", default="2023-06", help="the day of the oldest release that each is read of"
    )
    parser.add_argument(
        "--add", action="store_true", help="read the projects that the table lacks, and keep its rows"
    )
    parser.add_argument("--only", nargs="+", help="print the rows of these projects, write nothing")
    options = parser.parse_args()
    kept = json.loads((DATA / "requirements.json").read_text()) if options.add else []
    projects = options.only or sorted({*FAMILY, *LINKED, *STEADY} - {one["project"] for one in kept})
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda project: _read_row(project, options.since), projects)
        rows = [one for one in found if one is not None]
    if options.only:
        print(json.dumps(rows, indent=1))
        return
    write(DATA / "requirements.json", sorted([*kept, *rows], key=lambda one: str(one["project"])))


if __name__ == "__main__":
    main()
