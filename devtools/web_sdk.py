"""The SDK for browsers as an npm package: build/runtimes/web.

The package has JavaScript modules, their declarations (`.d.ts`), `package.json`, and mlc_llm.wasm
if `./dev build web` made it. A page can load it as it is, without a bundler. `mlc_llm package` puts
it into a static folder. Deno (PyPI's `deno`) removes the types.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bindings" / "web"
RUNTIME = ROOT / "build" / "runtimes" / "web"
WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
# In `from "./x.ts"` and `import("./x.ts")`.
_MODULE = re.compile(r"^/// <amd-module .*\n", re.MULTILINE)  # names a path of this machine
_IMPORT = re.compile(r"""((?:from|import)\s*\(?\s*")(\.{1,2}/[^"]+)\.ts(")""")


def find_deno() -> str | None:
    """Beside this Python, else on PATH."""
    return shutil.which("deno", path=str(Path(sys.executable).parent)) or shutil.which("deno")


def build(deno: str, target: Path, *, declarations: bool = True) -> None:
    """Writes the package into the folder `target`, in place of what is there. `declarations`: the
    `.d.ts` files too, which take longest."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "package"
        _transpile(deno, made, declarations)
        for path in (*made.rglob("*.js"), *made.rglob("*.d.ts")):
            text = path.read_text(encoding="utf-8")
            text = _IMPORT.sub(r"\1\2.js\3", _MODULE.sub("", text))
            path.write_text(text, encoding="utf-8")
        manifest = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
        (made / "package.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for path in (SOURCES / "README.md", ROOT / "LICENSE", WASM):
            if path.is_file():
                shutil.copyfile(path, made / path.name)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)


def _transpile(deno: str, made: Path, declarations: bool) -> None:
    sources = [
        path for part in ("src", "runtime") for path in sorted((SOURCES / part).rglob("*.ts"))
    ]
    command = [deno, "transpile", "--quiet", f"--outdir={made}"]
    command += ["--declaration"] if declarations else ["--no-check"]
    command.append(f"--config={SOURCES / 'deno.json'}")
    command += [str(path.relative_to(SOURCES)) for path in sources]
    environment = {**os.environ, "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    done = subprocess.run(command, cwd=SOURCES, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"[dev] deno transpile: {done.stderr[-4000:]}")


def main() -> int:
    deno = find_deno()
    if deno is None:
        print("[dev] the SDK for browsers needs deno: pip install deno", file=sys.stderr)
        return 1
    build(deno, RUNTIME)
    without = "" if WASM.is_file() else "; it has no mlc_llm.wasm: run ./dev build web first"
    print(f"[dev] {RUNTIME.relative_to(ROOT)}: the npm package for browsers{without}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
