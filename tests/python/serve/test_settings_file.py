"""The settings file: what it says, and what it says wrongly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlc_llm.errors import InvalidRequestError
from mlc_llm.serve.catalogue import ModelSpec
from mlc_llm.serve.models_file import ModelSettings, read_models
from mlc_llm.serve.settings_file import read_settings

TEMPLATE = ModelSpec(model=None, device="fake", mode="server")


def settings_of(tmp_path: Path, text: str) -> ModelSettings:
    file = tmp_path / "models.toml"
    file.write_text(text)
    table = read_settings(file)
    found = read_models(table, TEMPLATE)
    table.end()
    return found


def test_models_with_their_settings(tmp_path: Path) -> None:
    found = settings_of(
        tmp_path,
        """
        [defaults]
        idle_timeout = 600
        engine = { max_num_sequence = 2 }

        [models.writer]
        model = "HF://org/writer"
        quantization = "q4f16_1"
        context = 4096
        kv_cache_dtype = "q8"
        names = ["gpt-4o", "writer"]
        pin = true
        load = true
        engine.prefill_chunk_size = 64

        [models."org/coder"]
        model = "files/coder.gguf"
        device = "cpu"
        mode = "local"
        idle_timeout = 0.5
        when_idle = "sleep"

        [models.small]
        model = "default"
        """,
    )
    writer, coder, small = found.models
    assert (writer.model, writer.names) == ("HF://org/writer", ("writer", "gpt-4o"))
    assert writer.engine_config == {
        "max_num_sequence": 2, "context_window_size": 4096, "kv_cache_dtype": "q8",
        "prefill_chunk_size": 64,
    }  # fmt: skip
    assert (writer.device, writer.mode, writer.quantization) == ("fake", "server", "q4f16_1")
    assert (writer.pinned, writer.idle_timeout) == (True, 600)
    assert (coder.model, coder.names) == (str(tmp_path / "files/coder.gguf"), ("org/coder",))
    assert (coder.device, coder.mode) == ("cpu", "local")
    assert (coder.idle_timeout, coder.when_idle, coder.pinned) == (0.5, "sleep", False)
    assert (small.model, found.defaults.idle_timeout) == (None, 600)
    assert found.at_start == ("writer",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[models.a]\nmodel = 1", "line 2: models.a.model: must be a text"),
        ('[models.a]\nmodel = ""', "line 2: models.a.model: must be a text that is not empty"),
        ("[models.a]\n\ndevice = 'cpu'", "line 1: models.a.model: is missing"),
        ("[models.a]\nmodel='x'\nmdoe='local'", "line 3: models.a.mdoe: .* did you mean 'mode'"),
        ("[models.a]\nmodel='x'\nmode='fast'", "line 3: models.a.mode: must be one of local, "),
        ("[models.a]\nmodel='x'\ncontext=0", "line 3: models.a.context: must be at least 1, not 0"),
        ("[models.a]\nmodel='x'\ncontext=true", "line 3: models.a.context: must be an integer"),
        ("[models.a]\nmodel='x'\nidle_timeout=-1", "line 3: .*: must be at least 0, not -1"),
        ("[models.a]\nmodel='x'\nidle_timeout=inf", "line 3: .*: must be at least 0, not inf"),
        ("[models.a]\nmodel='x'\nnames=['b', 3]", "line 3: .*: must be a list of texts"),
        ("[models.a]\nmodel='x'\npin='yes'", "line 3: models.a.pin: must be true or false"),
        ("[models.a]\nmodel='x'\nadapters=['l']", "line 3: .*: 'l' must be NAME=PATH"),
        (
            "[models.a]\nmodel='x'\n[models.b]\nmodel='y'\nnames=['a']",
            "line 5: models.b.names: 'a' is a name of models.a already",
        ),
        (
            "[models.a]\nmodel='x'\n[models.a.engine]\nmax_num_sequence=-5",
            "line 4: models.a.engine.max_num_sequence: .*minimum value",
        ),
        ("[models.a]\nmodel='x'\nengine.nothing=1", "line 3: models.a.engine.nothing: "),
        ("[models.a]\nmodel='x'\nengine.max_num_seq=1", "Did you mean 'max_num_sequence'"),
        ("[models]\na = 3", "line 2: models.a: must be a table"),
        ("models = 3", "line 1: models: must be a table"),
        ("[model.a]", "line 1: model: there is no such setting; did you mean 'models'"),
        ("[defaults]\nnames=['x']", "line 2: defaults.names: there is no such setting"),
        ("[models.a", "line 1"),
        ("a = 1\na = 2", "line 2"),
        ("\udc80", "utf-8|UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "models.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidRequestError) as error:
        table = read_settings(file)
        read_models(table, TEMPLATE)
        table.end()
    assert str(file) in error.value.message
    assert re.search(words, error.value.message), error.value.message


def test_files_that_are_no_settings(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_text("#" * (1 << 21))
    deep = tmp_path / "deep.toml"
    deep.write_text("a = " + "[" * 100_000)
    for path in (tmp_path, tmp_path / "nothing", Path("/dev/zero"), large, deep):
        with pytest.raises(InvalidRequestError):
            read_settings(path)


def test_the_file_in_the_docs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "serve-models.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    found = settings_of(tmp_path, text)
    assert [spec.names[0] for spec in found.models] == ["writer", "coder"]
    assert found.at_start == ("writer",) and found.models[1].engine_config["max_num_sequence"] == 8
