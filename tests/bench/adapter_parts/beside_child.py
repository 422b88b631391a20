"""Times llama.cpp with and without an adapter, through `llama_cpp` in an environment of its own.

usage: beside_child.py MODEL.gguf ADAPTER.gguf THREADS ROUNDS JOBS

Each of JOBS (JSON) has `prompt`, `tokens` and `batch`. Prints, as JSON, two rows for each: medians
over the rounds, which run both ways in turn.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time
from typing import Any

import llama_cpp as lib


def main() -> None:
    model_file, adapter_file, threads, rounds, jobs = sys.argv[1:]
    quiet = lib.llama_log_callback(lambda *_: None)
    lib.llama_log_set(quiet, ctypes.c_void_p(0))
    lib.llama_backend_init()
    model = lib.llama_model_load_from_file(model_file.encode(), lib.llama_model_default_params())
    assert model, "llama.cpp cannot read the model"
    adapter = lib.llama_adapter_lora_init(model, adapter_file.encode())
    assert adapter, "llama.cpp cannot read the adapter"
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = 8192, 2048, 512, 8
    params.n_threads = params.n_threads_batch = int(threads)
    context = lib.llama_init_from_model(model, params)
    chosen = (lib.llama_adapter_lora_p_ctypes * 1)(adapter)
    scales = (ctypes.c_float * 1)(1.0)

    def run(job: dict[str, int], with_adapter: bool) -> float:
        lib.llama_set_adapters_lora(context, chosen, int(with_adapter), scales)
        return _tokens_per_s(context, **job)

    print(json.dumps([row for job in json.loads(jobs) for row in _compare(run, job, int(rounds))]))


def _compare(run: Any, job: dict[str, int], rounds: int) -> list[dict[str, Any]]:
    speeds: list[list[float]] = [[], []]
    for turn in range(rounds + 1):  # the first one warms up
        for way in (0, 1):
            speed = run(job, bool(way))
            if turn:
                speeds[way].append(speed)
    what = f"decode of {job['batch']}" if job["tokens"] else f"prompt of {job['prompt']}"
    cost = statistics.median(p / a for p, a in zip(*speeds, strict=True)) - 1
    return [
        {"what": what, "way": way, "tokens_per_s": statistics.median(some), "cost": own}
        for way, some, own in zip(("plain", "an adapter"), speeds, (0.0, cost), strict=True)
    ]


def _tokens_per_s(context: Any, prompt: int, tokens: int, batch: int) -> float:
    """Of the prompt, or of one answer of the batch."""
    lib.llama_memory_clear(lib.llama_get_memory(context), True)
    seconds = 0.0
    for sequence in range(batch):
        seconds += _decode(context, [(i % 100 + 5, i, sequence) for i in range(prompt)])
    if not tokens:
        return prompt / seconds
    begin = time.perf_counter()
    for i in range(tokens):
        _decode(context, [(i % 100 + 5, prompt + i, sequence) for sequence in range(batch)])
    return tokens / (time.perf_counter() - begin)


def _decode(context: Any, rows: list[tuple[int, int, int]]) -> float:
    """Of rows of a token, a position and a sequence. The last row of each sequence gets logits."""
    made = lib.llama_batch_init(len(rows), 0, 1)
    made.n_tokens = len(rows)
    for i, (token, position, sequence) in enumerate(rows):
        made.token[i], made.pos[i] = token, position
        made.n_seq_id[i], made.seq_id[i][0] = 1, sequence
        made.logits[i] = i + 1 == len(rows) or rows[i + 1][2] != sequence
    begin = time.perf_counter()
    assert lib.llama_decode(context, made) == 0
    lib.llama_get_logits_ith(context, -1)
    seconds = time.perf_counter() - begin
    lib.llama_batch_free(made)
    return seconds


main()
