"""apps/README.md's steps for an iPhone and a Mac, as far as they run without one.

The files that steps 2 and 3 make are those that the Xcode project of step 4 names, and the model's
kernels are for the engine of step 3, which has no Metal.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mlc_llm.package import ar
from mlc_llm.package.check import check_package
from mlc_llm.package.objects import read_object

ROOT = Path(__file__).resolve().parents[3]
APP = ROOT / "apps" / "ios" / "MLCChat"
README = (ROOT / "apps" / "README.md").read_text(encoding="utf-8")
STEPS = README.partition("## From a clone to a chat on an iPhone")[2]
SMALL = {"context_window_size": 256, "prefill_chunk_size": 128}
MACHINES = {"iphoneos": ("arm64 ios", "16.0"), "macosx": ("arm64 macos", "13.0")}


def test_the_project_links_what_the_steps_make(packager: Any) -> None:
    assert "mlc_llm package --package-config mlc-package-config.json --output dist\n" in STEPS
    assert "mlc_llm package --check --output dist\n" in STEPS
    config = json.loads((APP / "mlc-package-config.json").read_text(encoding="utf-8"))
    for model in config["model_list"]:  # tiny ones, in the place of what would be downloaded
        model |= {"model": "HF://mlc-ai/one-MLC", "overrides": SMALL}
    dist = packager(config)
    report = check_package(dist)
    assert report.problems == []
    project = (APP / "MLCChat.xcodeproj" / "project.pbxproj").read_text(encoding="utf-8")
    linked = re.findall(
        r'OTHER_LDFLAGS\[sdk=(\w+)\*\]" = "-Wl,-force_load,\$\(SRCROOT\)/(\S+)"', project
    )
    assert {sdk for sdk, _ in linked} == set(MACHINES)
    for sdk, place in linked:
        members = ar.read_members(packager.folder / place).values()
        objects = [read_object(data) for data in members]
        assert {(one.machine, one.minimum) for one in objects} == {MACHINES[sdk]}, place
    kinds = {library["target"]["kind"] for library in report.libraries.values()}
    assert kinds == {"llvm"}  # the engine of the XCFramework runs no other
    assert (dist / "bundle" / "mlc-app-config.json").is_file() and "path = dist/bundle;" in project
    platforms = re.findall(r'SUPPORTED_PLATFORMS = "([^"]+)"', project)
    assert all(set(names.split()) == set(MACHINES) for names in platforms)


def test_the_engine_goes_where_the_package_looks() -> None:
    folder = re.search(r"put `(CMLCLLM\.xcframework)` .*? into `bindings/swift/(\w+)`", STEPS)
    assert folder is not None
    manifest = (ROOT / "bindings" / "swift" / "Package.swift").read_text(encoding="utf-8")
    assert f'"{folder[2]}/{folder[1]}"' in manifest
