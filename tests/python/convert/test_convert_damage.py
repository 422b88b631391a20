"""Damaged files: random flips and cuts end in a typed error or a correct load, never in a crash."""

from __future__ import annotations

import json
import random
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import test_float8_blocks
import test_hf_quantized
import test_nvfp4
import tiny_models

sys.path.append(str(Path(__file__).parents[1] / "compiler" / "support"))

import tiny_encoders  # noqa: E402

from mlc_llm.compiler.convert import _Work, convert_model, open_source  # noqa: E402
from mlc_llm.compiler.convert.gguf.file import GGUFFile  # noqa: E402
from mlc_llm.compiler.models import config_from_hf  # noqa: E402
from mlc_llm.errors import CorruptFileError, MLCError, UnsupportedError  # noqa: E402


@pytest.fixture(scope="module")
def rounds(request):
    """Damages a file kind: 200, or 1,000 with --long."""
    return 1000 if request.config.getoption("--long", default=False) else 200


@pytest.fixture(scope="module")
def whole(request):
    """How many of them are converted as a whole; of the others every file is opened and checked."""
    return 1000 if request.config.getoption("--long", default=False) else 10


@pytest.fixture
def in_memory(tmp_path):
    """A folder in memory, where the system has one: conversions wait for the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return tiny_models.write_gguf(path, tiny_models.random_weights())


@pytest.fixture(scope="module")
def hf_folder(tmp_path_factory):
    return tiny_models.write_hf_folder(
        tmp_path_factory.mktemp("hf"), tiny_models.random_weights(), shards=2
    )


def damaged(data: bytes, rng: random.Random, header: int) -> bytes:
    """One to four flipped bits in the header, a changed word there, or a cut anywhere."""
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    changed = bytearray(data)
    if kind == 1:
        at = rng.randrange(header - 8)
        changed[at : at + 8] = struct.pack("<Q", rng.choice([0, 1, 2**31, 2**63, 2**64 - 1]))
    else:
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(header)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def convert_or_typed_error(path, output, quantization="q4f32_1") -> str:
    """How it ended; anything but MLCError fails the test by itself."""
    shutil.rmtree(output, ignore_errors=True)
    try:
        convert_model(open_source(path), output, quantization=quantization)
    except MLCError as error:
        assert error.message and not output.exists()
        return type(error).__name__
    assert (output / "tensor-cache.json").is_file()
    return "converted"


def check_or_typed_error(path, quantization) -> str:
    """The same, without the weights."""
    try:
        source = open_source(path)
        _Work(source, quantization, None).needed_bytes()
        source.tokenizer_files()
    except MLCError as error:
        assert error.message
        return type(error).__name__
    return "checked"


def ends_of(damages, whole, path, output, quantization="q4f32_1") -> list[str]:
    """How the damaged models ended. `damages` makes one after the other."""
    ends = [
        convert_or_typed_error(path, output, quantization)
        if index < whole
        else check_or_typed_error(path, quantization)
        for index, _ in enumerate(damages)
    ]
    assert ends.count("InternalError") == 0
    return ends


def test_damaged_gguf(gguf_file, in_memory, rounds):
    data, path = gguf_file.read_bytes(), in_memory / "damaged.gguf"
    header = len(data) - sum(w.nbytes for w in tiny_models.random_weights().values())
    rng = random.Random(1)
    damages = (path.write_bytes(damaged(data, rng, header)) for _ in range(rounds))
    ends = ends_of(damages, rounds, path, in_memory / "out")
    assert ends.count("CorruptFileError") > rounds // 4


@pytest.mark.parametrize(
    "name", ["config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json",
             "tokenizer.json", "tokenizer_config.json"],
)  # fmt: skip
def test_damaged_hf_file(name, hf_folder, in_memory, rounds, whole):
    folder = in_memory / "hf"
    shutil.copytree(hf_folder, folder)
    data = (folder / name).read_bytes()
    header = 8 + struct.unpack("<Q", data[:8])[0] if name.endswith("safetensors") else len(data)
    rng = random.Random(2)
    damages = ((folder / name).write_bytes(damaged(data, rng, header)) for _ in range(rounds))
    ends = ends_of(damages, whole, folder, in_memory / "out")
    assert ends.count("CorruptFileError") > 0


# How each kind of quantized repository is written, and what it is converted to. Damage to a single
# layer of each kind is in test_fuzz_corpora.py.
REPOSITORIES = {
    "kept float8": (test_float8_blocks.write_repository, test_float8_blocks.BLOCKS,
                    test_float8_blocks.NAME),
    "kept nvfp4": (test_nvfp4.write_repository, test_nvfp4.COMPRESSED, "auto"),
    "modelopt": (test_nvfp4.write_repository, test_nvfp4.MODELOPT, "auto"),
    "tensors": (test_float8_blocks.write_repository, test_float8_blocks.TENSORS, "q4f32_1"),
    **{kind: (test_hf_quantized.write_repository, kind, "q4f32_1")
       for kind in test_hf_quantized.REPOSITORIES},
}  # fmt: skip


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_damaged_quantized_repository(kind, in_memory, whole):
    """The header of the weights, JSON inside of them and the config, which names the method."""
    write, config, quantization = REPOSITORIES[kind]
    folder = in_memory / "hf"
    write(folder, config)
    damages = damages_of_repository(folder, random.Random(kind), whole)
    ends = ends_of(damages, whole, folder, in_memory / "out", quantization)
    assert ends.count("CorruptFileError") > len(ends) // 4


def damages_of_repository(folder, rng, count):
    files = {name: (folder / name).read_bytes() for name in ("model.safetensors", "config.json")}
    header = 8 + struct.unpack("<Q", files["model.safetensors"][:8])[0]
    for _ in range(count):
        name = rng.choice(["model.safetensors", "model.safetensors", "config.json"])
        data = files[name]
        steering = header if name == "model.safetensors" else len(data)
        if (at := data.find(b'{"shape"')) > steering and rng.random() < 0.3:  # bitsandbytes' JSON
            changed = data[:at] + damaged(data[at : at + 90], rng, 90).ljust(90) + data[at + 90 :]
        else:
            changed = damaged(data, rng, steering)
        yield (folder / name).write_bytes(changed)
        (folder / name).write_bytes(data)


@pytest.mark.parametrize("name", ["modules.json", "1_Pooling/config.json", "config.json"])
def test_damaged_sentence_transformers_folder(name, in_memory, rounds, whole):
    folder = tiny_encoders.write_folder(in_memory / "hf", "pooling_mode_mean_tokens")
    data, rng = (folder / name).read_bytes(), random.Random(name)
    damages = ((folder / name).write_bytes(damaged(data, rng, len(data))) for _ in range(rounds))
    ends = ends_of(damages, whole, folder, in_memory / "out", "q0f32")
    assert ends.count("CorruptFileError") > rounds // 4


def test_a_gguf_cut_in_half_says_so(gguf_file, tmp_path):
    path = tmp_path / "half.gguf"
    data = gguf_file.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptFileError) as caught:
        open_source(path)
    place = f"half.gguf: file ends at byte {len(data) // 2} of {len(data)}: it was cut off"
    assert place in caught.value.message
    assert "download it again" in caught.value.message
    assert caught.value.code == "truncated_file"


def header(*, version=3, tensors=0, keys=0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


BY_HAND = {
    "empty": (b"", CorruptFileError, "is empty"),
    "not gguf": (b"PK\x03\x04" + bytes(40), CorruptFileError, "magic"),
    "version 1": (header(version=1), UnsupportedError, "version 1"),
    "big endian": (header(version=3 << 24), UnsupportedError, "version"),
    "too many tensors": (header(tensors=2**60), CorruptFileError, "tensor_count"),
    "too many keys": (header(keys=2**40), CorruptFileError, "metadata_kv_count"),
    "long key": (header(keys=1) + struct.pack("<QI", 2**63, 0), CorruptFileError, "metadata key"),
    "long array": (
        header(keys=1) + text("k") + struct.pack("<IIQ", 9, 8, 2**62) + bytes(64),
        CorruptFileError,
        "'k' claims a length",
    ),
    "long string": (
        header(keys=1) + struct.pack("<Q", 10**6) + bytes(64), CorruptFileError, "claims a length",
    ),
    "nested arrays": (
        header(keys=1) + text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 500,
        CorruptFileError,
        "value type 9",
    ),
    "unknown value type": (
        header(keys=1) + text("k") + struct.pack("<II", 77, 0), CorruptFileError, "type 77",
    ),
    "key twice": (
        header(keys=2) + (text("k") + struct.pack("<II", 4, 1)) * 2, CorruptFileError, "twice",
    ),
    "not utf-8": (
        header(keys=1) + struct.pack("<Q", 2) + b"\xff\xfe" + bytes(16), CorruptFileError, "UTF-8",
    ),
    "no dimensions": (
        header(tensors=1) + text("t") + struct.pack("<I", 0) + bytes(32),
        CorruptFileError,
        "0 dimensions",
    ),
    "unknown tensor type": (
        header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 32, 5, 0),
        CorruptFileError,
        "tensor type 5",
    ),
    "broken block": (
        header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 33, 8, 0),
        CorruptFileError,
        "Q8_0 blocks",
    ),
    "tensor behind the end": (
        header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 2**40, 0, 0),
        CorruptFileError,
        "cut off",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_gguf_headers_by_hand(case, tmp_path):
    data, error, match = BY_HAND[case]
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(error, match=match):
        GGUFFile(path)


SAFETENSORS = {
    "short": (b"\x01\x02", "cut off"),
    "huge header": (struct.pack("<Q", 2**60), "claims"),
    "header cut": (struct.pack("<Q", 1000) + b"{}", "of 1008: it was cut off"),
    "no json": (struct.pack("<Q", 4) + b"{{{{", "JSON"),
    "deep json": (struct.pack("<Q", 400_000) + b"[" * 400_000, "JSON"),
    "a list": (struct.pack("<Q", 2) + b"[]", "object"),
    "no offsets": (struct.pack("<Q", 10) + b'{"a": {}} ', "data_offsets"),
}


@pytest.mark.parametrize("case", SAFETENSORS)
def test_safetensors_headers_by_hand(case, tmp_path):
    data, match = SAFETENSORS[case]
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(CorruptFileError, match=match):
        open_source(folder).tensors()


def test_safetensors_entries(tmp_path):
    entry = '{"a": {"dtype": "F32", "shape": %s, "data_offsets": %s}}'
    path = tmp_path / "hf" / "model.safetensors"
    tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    for shape, offsets, match in (
        ("[-1]", "[0, 4]", "whole number"),
        ("[true]", "[0, 4]", "whole number"),
        ("[2]", "[0, 4]", "needs 8 bytes and has 4"),
        ("[1]", "[4, 8]", "cut off"),
        ("[1e3]", "[0, 4]", "whole number"),
    ):
        text = (entry % (shape, offsets)).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
        with pytest.raises(CorruptFileError, match=match):
            open_source(tmp_path / "hf").tensors()


def test_tensors_that_share_bytes(gguf_file, tmp_path):
    """One flipped bit in an offset: the bytes of other weights would be read."""
    data, name = gguf_file.read_bytes(), b"blk.0.attn_q.weight"
    at = data.index(name) + len(name) + struct.calcsize("<IQQI")
    path, folder = tmp_path / "bad.gguf", tmp_path / "hf"
    for bit in (0, 5, 12):
        changed = bytearray(data)
        changed[at + bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(CorruptFileError, match="bad.gguf: tensors .* share bytes"):
            GGUFFile(path)
    tiny_models.write_hf_folder(folder, tiny_models.random_weights())
    entry = {"dtype": "F32", "shape": [2]}
    for begin in (0, 4):
        a, b = ({**entry, "data_offsets": [at, at + 8]} for at in (0, begin))
        text = json.dumps({"a": a, "b": b}).encode()
        stored = struct.pack("<Q", len(text)) + text + bytes(16)
        (folder / "model.safetensors").write_bytes(stored)
        with pytest.raises(CorruptFileError, match="tensors a and b share bytes"):
            open_source(folder).tensors()


def test_gguf_of_an_unknown_architecture(tmp_path):
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(UnsupportedError, match="mamba.*known: llama"):
        open_source(path).hf_config()


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("llama.rope.dimension_count", 8, "8 of 16 dimensions"),
        ("llama.rope.scaling.type", "longrope", "longrope"),
    ],
)
def test_gguf_variants_that_would_convert_wrongly(key, value, match, tmp_path):
    def add(writer):
        (writer.add_string if isinstance(value, str) else writer.add_uint32)(key, value)

    weights = tiny_models.random_weights()
    path = tiny_models.write_gguf(tmp_path / "m.gguf", weights, add_metadata=add)
    with pytest.raises(UnsupportedError, match=match):
        open_source(path).hf_config()


def test_gguf_with_experts_needs_the_number_in_use(tmp_path):
    def add(writer):
        writer.add_uint32("llama.expert_count", 8)

    weights = tiny_models.random_weights()
    path = tiny_models.write_gguf(tmp_path / "m.gguf", weights, add_metadata=add)
    with pytest.raises(CorruptFileError, match="llama.expert_used_count"):
        open_source(path).hf_config()


def test_gguf_rope_scaling(tmp_path):
    """Llama 3's scaling is recognised by its factors; others are kept, one for each frequency."""
    from mlc_llm.compiler.convert.gguf.config import llama3_factors

    scaling = {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    factors = llama3_factors(scaling, 10000.0, tiny_models.HEAD_DIM).astype("float32")
    weights = tiny_models.random_weights()
    for index, change in enumerate((1.0, 1.5)):
        factors[3] *= change

        def add(writer):
            writer.add_tensor("rope_freqs.weight", factors)

        path = tiny_models.write_gguf(tmp_path / f"{index}.gguf", weights, add_metadata=add)
        found = open_source(path).hf_config()
        if change == 1.0:
            assert found["rope_scaling"] == scaling
        else:
            typed = config_from_hf(found)
            plain = 10000.0 ** (-np.arange(0, tiny_models.HEAD_DIM, 2) / tiny_models.HEAD_DIM)
            assert typed.rope.frequencies == pytest.approx(plain / factors)
            assert typed.rope.scaling.magnitude == 1.0
    for bad in (factors[:4], -factors, factors * np.nan):
        factors = bad
        path = tiny_models.write_gguf(tmp_path / "bad.gguf", weights, add_metadata=add)
        with pytest.raises(CorruptFileError, match="rope_freqs.weight"):
            open_source(path).hf_config()
