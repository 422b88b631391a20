"""The options of `./dev test`, as the documents write them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("options", [["-k", "stream", "-x"], ["-x", "stream"]])
def test_words_choose_tests_in_a_folder(options: list[str]) -> None:
    test = runpy.run_path(str(ROOT / "dev"))["test"]
    commands: list[Any] = []
    for name in ("build", "setup_extras", "install_debian_packages"):
        test.__globals__[name] = lambda *args, **more: None
    test.__globals__["run"] = lambda *args, **more: commands.append(args[1:])
    test(["python/serve", *options])
    assert commands == [("-m", "pytest", "-x", "-k", "stream", "tests/python/serve")]
