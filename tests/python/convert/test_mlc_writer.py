"""The writer of `-MLC` folders: shards, pieces of tensors, full disks."""

from __future__ import annotations

import json
import sys
from collections import namedtuple

import numpy as np
import pytest
import tiny_models
from convert_child import run_child

from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.errors import ResourceError


@pytest.fixture(scope="module")
def hf_folder(tmp_path_factory):
    return tiny_models.write_hf_folder(tmp_path_factory.mktemp("hf"), tiny_models.random_weights())


def test_tensors_are_aligned_and_shards_split(tmp_path):
    """Small tensors share shards up to the cap; one of half the cap lies alone."""
    from mlc_llm.compiler.convert.mlc_writer import WeightWriter
    from mlc_llm.compiler.quantization import StoredParam

    writer = WeightWriter(tmp_path, shard_bytes=1000)
    for index, size in enumerate([90, 30, 150, 20, 80]):
        array = np.full(size, index, np.float32)
        writer.add(StoredParam(f"t{index}", (size,), "float32"), [array[:7], array[7:]])
    writer.finish(original_elements=370)
    index = json.loads((tmp_path / "tensor-cache.json").read_text())
    placed = [
        [(record["name"], record["byteOffset"]) for record in shard["records"]]
        for shard in index["records"]
    ]
    assert placed == [[("t0", 0), ("t1", 384), ("t3", 512), ("t4", 640)], [("t2", 0)]]
    assert index["metadata"] == {"ParamSize": 5, "ParamBytes": 1480.0, "BitsPerParam": 32.0}
    assert verify(tmp_path) == []
    tensors = tiny_models.read_mlc_folder(tmp_path)
    assert all((tensors[f"t{i}"] == i).all() for i in range(5))


@pytest.mark.parametrize("sizes", [[5 << 20, 1, 3, 7 << 20], [1 << 20] * 5, [3 << 20] * 4, [9]])
def test_shards_are_written_in_whole_blocks(sizes):
    """Each write has whole blocks of 2 MB, but for the last one."""
    from mlc_llm.compiler.convert.mlc_writer import BlockFile

    writes = []

    class File:
        def write(self, data):
            writes.append(bytes(data))

        def flush(self):
            pass

    block, file = 2 << 20, BlockFile(File())
    pieces = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    for piece in pieces:
        file.write(memoryview(piece))
    file.flush()
    assert b"".join(writes) == b"".join(pieces)
    assert all(data and len(data) % block == 0 for data in writes[:-1])
    assert len(writes[-1]) == sum(sizes) % block or sum(sizes) % block == 0


def test_pieces_of_tensors_end_where_blocks_end(tmp_path, monkeypatch):
    """So that no piece is copied to complete a block, whatever the sizes of chunks are."""
    from mlc_llm.compiler.convert import mlc_writer
    from mlc_llm.compiler.quantization import StoredParam

    ends, write = [0], mlc_writer.BlockFile.write

    def noted(file, data):
        ends.append(ends[-1] + len(data))
        write(file, data)

    monkeypatch.setattr(mlc_writer.BlockFile, "write", noted)
    writer = mlc_writer.WeightWriter(tmp_path)
    chunks = np.arange(3 * 1_500_000, dtype=np.float32).reshape(3, -1)  # of 6 MB
    writer.add(StoredParam("t", chunks.shape, "float32"), list(chunks))
    writer.finish(original_elements=chunks.size)
    expected = {6_000_000, 12_000_000, *range(4 << 20, 18_000_000, 4 << 20)}  # and chunks' own ends
    assert sorted(expected) == ends[1:-1] and ends[-1] == 18_000_000
    np.testing.assert_array_equal(tiny_models.read_mlc_folder(tmp_path)["t"], chunks)


def test_full_disk_is_told_beforehand(tmp_path, hf_folder, monkeypatch):
    usage = namedtuple("usage", "total used free")
    module = "mlc_llm.compiler.convert.output_folder.shutil.disk_usage"
    monkeypatch.setattr(module, lambda _: usage(100, 99, 1))
    with pytest.raises(ResourceError, match="bytes are needed and 1 are free"):
        convert_model(open_source(hf_folder), tmp_path / "out", quantization="q0f32")
    assert list(tmp_path.iterdir()) == []


FULL_DISK = """
import errno, os, sys
from unittest import mock
from mlc_llm.compiler.convert import mlc_writer, write_weights
from mlc_llm.errors import ResourceError

def full(*args): raise OSError(errno.ENOSPC, "No space left on device")

plain = Path.open
def opened(path, mode="r", **options):
    if mode == "wb" and path.name.startswith("params_shard"):
        return plain(Path("/dev/full"), mode, buffering=0)
    return plain(path, mode, **options)

source, output = map(Path, sys.argv[1:])
options = mlc_writer.WeightWriter.__init__.__kwdefaults__
for place, name, fault in (
    (mlc_writer._Shard, "_append", full),  # in the caller's thread
    (Path, "open", opened),  # in the threads that write, hash and sync
    (mlc_writer.hashlib, "md5", lambda **_: mock.Mock(update=full)),
    (os, "fsync", full),
):
    for options["shard_bytes"] in (1 << 14, 1 << 25):  # many shards, or one
        with mock.patch.object(place, name, fault):
            try: write_weights(open_source(source), output, quantization="q0f32")
            except ResourceError as error: print(name, error.code)
        assert list(output.parent.iterdir()) == []
write_weights(open_source(source), output, quantization="q0f32")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a full disk")
def test_disk_that_fills_up_is_told(tmp_path, hf_folder):
    """Wherever the lack of space shows, it is a typed error that leaves nothing and ends the
    threads."""
    child = run_child(FULL_DISK, arguments=(hf_folder, tmp_path / "out"))
    places = [name for name in ("_append", "open", "md5", "fsync") for _ in range(2)]
    assert child.stdout.splitlines() == [f"{name} disk_full" for name in places], child.stderr
    assert child.returncode == 0 and verify(tmp_path / "out") == []
