"""How engines end: exceptions, threads, garbage, forks and the end of the interpreter."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from mlc_llm import MLCEngine
from mlc_llm.errors import UnavailableError
from mlc_llm.prepare.model_source import ResolvedModel

BEGIN = """
import asyncio, gc, os, sys, threading, time
from mlc_llm import AsyncMLCEngine, MLCEngine, MLCError

def make(kind=MLCEngine):
    return kind(sys.argv[1], model_lib=sys.argv[2], device="cpu")

HI = [{"role": "user", "content": "hi"}]
LONG = dict(messages=HI, stream=True, max_tokens=400, debug_config={"ignore_eos": True})
"""

ENDS = {
    "the interpreter with an open stream": """
        engine = make()
        stream = engine.chat.completions.create(**LONG)
        next(stream)
    """,
    "the interpreter while nine threads ask": """
        engines = [make(), make(), make()]
        def ask(engine):
            try:
                while True:
                    list(engine.chat.completions.create(**LONG))
            except MLCError:
                pass
        for engine in engines * 3:
            threading.Thread(target=ask, args=(engine,), daemon=True).start()
        time.sleep(0.2)
    """,
    "an event loop with an open stream": """
        async def main():
            engine = make(AsyncMLCEngine)
            stream = await engine.chat.completions.create(**LONG)
            await stream.__anext__()
            return engine, stream
        kept = asyncio.run(main())
        time.sleep(0.1)
    """,
    "engines in rings of references": """
        for i in range(12):
            class Ring: pass
            ring = Ring()
            ring.me, ring.engine = ring, make()
            ring.stream = ring.engine.chat.completions.create(**LONG)
            next(ring.stream)
            del ring
            if i % 5 == 0:
                gc.collect()
    """,
    "closed while four threads ask": """
        for _ in range(10):
            engine, errors = make(), []
            def ask():
                try:
                    while True:
                        engine.chat.completions.create(messages=HI, max_tokens=3)
                        engine.metrics()
                except MLCError as error:
                    errors.append(error)
            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads: thread.start()
            time.sleep(0.02)
            engine.terminate()
            for thread in threads: thread.join(100)
            assert len(errors) == 4, errors
    """,
    "a forked child": """
        engine = make()
        stream = engine.chat.completions.create(**LONG)
        for use in (lambda: engine.chat.completions.create(messages=HI), lambda: list(stream)):
            child = os.fork()
            if child == 0:
                try:
                    use()
                except MLCError as error:
                    sys.exit(7 if "fork" in error.message else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        list(stream)
        assert engine.chat.completions.create(messages=HI, max_tokens=2).choices
    """,
}


@pytest.mark.parametrize("name", ENDS)
def test_it_ends_quietly(name: str, tiny_model: ResolvedModel) -> None:
    script = BEGIN + textwrap.dedent(ENDS[name]) + "\nprint('the end')\n"
    paths = (str(tiny_model.folder), str(tiny_model.model_lib))
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script, *paths],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "the end\n", "")


def test_a_closed_engine_says_so(tiny_model: ResolvedModel) -> None:
    engine = MLCEngine(tiny_model.folder, model_lib=tiny_model.model_lib, device="cpu")
    engine.terminate()
    engine.terminate()
    for use in (engine.metrics, engine.reset, lambda: engine.chat.completions.create(messages=[])):
        with pytest.raises(UnavailableError, match="the engine is closed"):
            use()
