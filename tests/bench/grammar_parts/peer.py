"""llguidance under the protocol of grammars_bench.cc.

usage: peer.py FOLDER-OF-LLGUIDANCE tokenizer.json
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(folder: str, tokenizer_file: str) -> None:
    sys.path.insert(0, folder)
    import llguidance
    import llguidance.numpy
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(tokenizer_file)
    end = tokenizer.token_to_id("<|im_end|>")
    vocabulary = llguidance.LLTokenizer(tokenizer_file, eos_token=end)
    mask = llguidance.numpy.allocate_token_bitmask(1, vocabulary.vocab_size)
    limits = None

    def matcher_of(grammar: str) -> Any:
        return llguidance.LLMatcher(vocabulary, grammar, log_level=0, limits=limits)

    def follow(grammar: str, text: str, mask_us: list[float]) -> bool:
        matcher, times = matcher_of(grammar), []
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        for token in [*tokens, end]:
            begin = time.thread_time_ns()
            llguidance.numpy.fill_next_token_bitmask(matcher, mask)
            times.append(1e-3 * (time.thread_time_ns() - begin))
            if not matcher.consume_token(token):
                return False
        mask_us += times
        return True

    def answer(task: dict[str, Any]) -> dict[str, Any]:
        begin = time.thread_time_ns()
        options = {"lenient": not task["strict"]}
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(
                task["source"], overrides=options
            )
            matcher = matcher_of(grammar)
        except ValueError as error:
            return {"error": str(error), "compile_ms": 1e-6 * (time.thread_time_ns() - begin)}
        compile_ms = 1e-6 * (time.thread_time_ns() - begin)
        if matcher.is_error():
            return {"error": matcher.get_error(), "compile_ms": compile_ms}
        mask_us: list[float] = []
        admitted = [follow(grammar, text, mask_us) for text in task["texts"]]
        return {"compile_ms": compile_ms, "admitted": admitted, "mask_us": mask_us}

    matcher_of(llguidance.LLMatcher.grammar_from_json_schema('{"type":"null"}'))
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
