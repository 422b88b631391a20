"""What only the core can say: the words for faults written by hand, the fake model's answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import by_hand
import classes

from mlc_llm import _core
from mlc_llm.errors import error_from_core

FAKE_MODEL = Path(__file__).resolve().parents[2] / "fixtures" / "fake-model"

Case = dict[str, Any]


class Core:
    """An engine with the fake model, asked through the C ABI."""

    def __init__(self) -> None:
        config = {"mode": "local", "max_num_sequence": 16, "prefix_cache_mode": "disable"}
        self._engine = _core.Engine(json.dumps(config))
        self._engine.load(json.dumps({"model": str(FAKE_MODEL), "device": "fake"}))

    def refusal(self, route: str, body: str) -> str:
        """The message with which `body` is refused."""
        try:
            self._engine.stream(route, body)
        except _core.CoreError as error:
            return error_from_core(error).message
        raise AssertionError(f"{route}: is not refused: {body[:200]}")

    def answer(self, request: Case) -> Case:
        body = json.dumps({**request, "stream": False})
        _, events = self._engine.stream("chat.completions", body)
        kind, text = events.next()
        assert kind == _core.EVENT_RESULT, text
        answer: Case = json.loads(text)
        return answer


def fault_case(core: Core, name: str, route: str, body: str, param: str | None, code: str) -> Case:
    case = {"name": f"refused: {name}", "kind": "fault", "route": route, "body": body}
    return {**case, **classes.expected(code, core.refusal(route, body), param)}


def answer_case(core: Core, name: str, request: Case) -> Case:
    answer = core.answer(request)
    case = {"name": f"answer: {name}", "kind": "answer", "type": by_hand.REQUEST}
    texts = {str(c["index"]): c["message"]["content"] for c in answer["choices"]}
    reasons = {str(c["index"]): c["finish_reason"] for c in answer["choices"]}
    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    usage = {key: answer["usage"][key] for key in counts}
    return {**case, "json": request, "texts": texts, "finish_reasons": reasons, "usage": usage}


def files() -> dict[str, list[Case]]:
    core = Core()
    return {
        "faults": [fault_case(core, *fault) for fault in by_hand.FAULTS],
        "answers": [answer_case(core, name, request) for name, request in by_hand.ANSWERS],
    }
