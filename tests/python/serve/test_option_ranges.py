"""Values that options of `mlc_llm serve` cannot have: one line says so, and nothing starts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pytest

from mlc_llm.cli.serve import register
from mlc_llm.cli.serve_checks import check_options
from mlc_llm.errors import InvalidRequestError

from .conftest import FAKE


def check(*options: str) -> None:
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers())
    check_options(parser.parse_args(["serve", *options]))


OUT_OF_RANGE = {
    "--port": ("-1", "65536"),
    "--max-body-bytes": ("0", "-5"),
    "--max-total-body-bytes": ("5",),
    "--max-connections": ("0", "-1"),
    "--max-loaded": ("0",),
    "--responses-bytes": ("-1",),
    "--idle-timeout": ("-1", "nan", "inf"),
    "--shutdown-timeout": ("-1", "nan", "inf"),
    "--head-timeout": ("0", "nan"),
    "--body-timeout": ("0", "-1"),
    "--request-timeout": ("0", "-1", "nan"),
    "--keep-alive": ("0", "-1", "nan"),
    "--stalled-timeout": ("0", "-1", "nan"),
}


@pytest.mark.parametrize("option", OUT_OF_RANGE)
def test_numbers_out_of_range(option: str) -> None:
    for text in OUT_OF_RANGE[option]:
        with pytest.raises(InvalidRequestError, match=f"^{option} {text}.*: must be ") as refused:
            check(option, text)
        assert refused.value.param == option[2:].replace("-", "_")


def test_numbers_at_the_ends_of_their_ranges() -> None:
    for options in (
        ("--port", "0"), ("--port", "65535"), ("--max-body-bytes", "1"), ("--max-connections", "1"),
        ("--max-body-bytes", "5", "--max-total-body-bytes", "5"), ("--responses-bytes", "0"),
        ("--idle-timeout", "0"), ("--shutdown-timeout", "0"), ("--keep-alive", "0.001"),
    ):  # fmt: skip
        check(*options)


@pytest.mark.parametrize(
    "option",
    ["--api-key", "--api-key-file", "--host", "--prefix-cache-dir", "--responses-db", "--settings",
     "--uds", "--ssl-certfile", "--model-lib", "--prefill-from", "--mmproj", "--embedding-model"],
)  # fmt: skip
def test_texts_that_are_empty(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLC_LLM_API_KEY", "sk")
    for text in ("", " "):
        with pytest.raises(InvalidRequestError, match=f"^{option}: must not be empty$"):
            check(option, text)
    variable = f"MLC_LLM_SERVE_{option[2:].upper().replace('-', '_')}"
    monkeypatch.setenv(variable, "")
    with pytest.raises(InvalidRequestError, match=f"^{variable}: must not be empty$"):
        check()


def test_lists_with_an_empty_text_and_options_that_may_be_empty() -> None:
    for option in ("--served-model-name", "--models-dir", "--additional-models", "--lora"):
        with pytest.raises(InvalidRequestError, match=f"^{option}: must not be empty$"):
            check(option, "a", "")
    with pytest.raises(InvalidRequestError, match="^MODEL: must not be empty$"):
        check("")
    check("--overrides", "", "--api-prefix", "")


def test_the_command_says_it_in_one_line(mlc_llm: Callable[..., Any]) -> None:
    command = ("serve", FAKE, "--device", "fake")
    done = mlc_llm(*command, "--max-connections", "0")
    wrong = "Error: --max-connections 0: must be at least 1\n"
    assert (done.returncode, done.stderr) == (1, wrong)
    done = mlc_llm(*command, MLC_LLM_API_KEY="")  # not a server that is open to all
    empty = "Error: MLC_LLM_API_KEY: must not be empty\n"
    assert (done.returncode, done.stderr) == (1, empty)
