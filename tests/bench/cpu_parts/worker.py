"""A process that runs one model and is told what to time.

    python worker.py ours '{"folder": ..., "model_lib": ..., "strips": "", "threads": 2}'
    python worker.py peer '{"gguf": ..., "threads": 2}'
    python worker.py openvino '{"gguf": ..., "threads": 2}'    (one of generators.py)

One JSON object a line: commands on standard input, answers on standard output. It imports nothing
of mlc_llm for the peer, which runs in an environment of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

CONTEXT = 20480  # tokens, over all sequences, unless it is told; forks share their history
SEQUENCES = 16  # the same
TOKEN = 7


class Backend(Protocol):
    """Sequence 0 is there from the beginning; every call computes what it says before it ends."""

    vocab_size: int
    kv_bytes_per_token: int

    def extend(self, tokens: list[int]) -> None:
        """Appends to sequence 0; the last row's logits are computed."""

    def logits(self, tokens: list[int]) -> np.ndarray:
        """Appends to sequence 0; the logits of all rows."""

    def repeat(self, length: int) -> None:
        """Sequence 0 grows to `length` with copies of its keys and values."""

    def truncate(self, length: int) -> None:
        """Sequence 0 forgets what stands behind; other sequences are gone."""

    def fork(self, child: int, length: int) -> None:
        """Sequence `child` begins like sequence 0."""

    def decode(self, count: int) -> None:
        """One token for each of sequences 0 to count - 1."""


class Ours:
    def __init__(self, options: dict[str, Any]) -> None:
        import mlc_core_parts

        pages = options.get("context", CONTEXT) // 16
        self._runner = mlc_core_parts.ModelRunner(
            options["folder"], options["model_lib"], pages, options["threads"], options["strips"]
        )
        self.vocab_size = self._runner.vocab_size
        self.kv_bytes_per_token = self._runner.kv_bytes_per_token

    def extend(self, tokens: list[int]) -> None:
        self._runner.read_prompt(tokens)

    def logits(self, tokens: list[int]) -> np.ndarray:
        raw = self._runner.forward(tokens, True)
        return np.frombuffer(raw, np.float32).reshape(len(tokens), -1)

    def repeat(self, length: int) -> None:
        self._runner.repeat(length)

    def truncate(self, length: int) -> None:
        self._runner.keep(length)

    def fork(self, child: int, length: int) -> None:
        self._runner.fork(0, child, length)

    def decode(self, count: int) -> None:
        self._runner.decode([TOKEN] * count, copy_logits=False)

    def page_bytes(self, length: int) -> int:
        answer: int = self._runner.page_bytes(length)
        return answer


class Peer:
    """llama.cpp through its C interface, as llama-cpp-python exposes it."""

    def __init__(self, options: dict[str, Any]) -> None:
        import llama_cpp

        self._lib = lib = llama_cpp
        self._log = llama_cpp.llama_log_callback(_to_stderr)  # kept: C holds it
        lib.llama_log_set(self._log, ctypes.c_void_p(0))
        lib.llama_backend_init()
        model = lib.llama_model_load_from_file(
            options["gguf"].encode(), lib.llama_model_default_params()
        )
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = options.get("context", CONTEXT), 512, 512
        self._sequences = params.n_seq_max = options.get("sequences", SEQUENCES)
        params.n_threads = params.n_threads_batch = options["threads"]
        if hasattr(params, "kv_unified"):
            params.kv_unified = True
        if "sequences" in options:  # layers with a window keep their window, as in its server
            params.swa_full = False
        if options.get("kv_cache_dtype") == "q8":
            params.type_k = params.type_v = lib.GGML_TYPE_Q8_0
            params.flash_attn_type = 1  # with other pages it turns this on by itself
        self._context = lib.llama_init_from_model(model, params)
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(512, 0, 1)
        self._lengths = [0] * self._sequences
        self.vocab_size = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
        head_dim = lib.llama_model_n_embd(model) // lib.llama_model_n_head(model)
        heads = lib.llama_model_n_layer(model) * lib.llama_model_n_head_kv(model)
        self.kv_bytes_per_token = 2 * 2 * heads * head_dim  # float16, as it comes

    def extend(self, tokens: list[int]) -> None:
        for begin in range(0, len(tokens), 512):
            part = tokens[begin : begin + 512]
            last = begin + len(part) == len(tokens)
            rows = [(t, 0, last and i + 1 == len(part)) for i, t in enumerate(part)]
            self._run(rows)

    def logits(self, tokens: list[int]) -> np.ndarray:
        assert len(tokens) <= 512
        self._run([(token, 0, True) for token in tokens])
        raw = self._lib.llama_get_logits(self._context)
        return np.ctypeslib.as_array(raw, (len(tokens), self.vocab_size)).copy()

    def repeat(self, length: int) -> None:
        lib, memory, known = self._lib, self._memory, self._lengths[0]
        size = lib.llama_state_seq_get_size(self._context, 0)
        state = (ctypes.c_uint8 * size)()
        lib.llama_state_seq_get_data(self._context, state, size, 0)
        for begin in range(known, length, known):  # through sequence 1, at later positions
            if lib.llama_state_seq_set_data(self._context, state, size, 1) == 0:
                raise RuntimeError("llama.cpp does not take a copy of its own state")
            lib.llama_memory_seq_add(memory, 1, -1, -1, begin)
            lib.llama_memory_seq_cp(memory, 1, 0, -1, -1)
            lib.llama_memory_seq_rm(memory, 1, -1, -1)
            self._lengths[0] += known
        self.truncate(length)

    def truncate(self, length: int) -> None:
        for sequence in range(1, self._sequences):
            self._lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)
            self._lengths[sequence] = 0
        self._lib.llama_memory_seq_rm(self._memory, 0, length, -1)
        self._lengths[0] = length

    def fork(self, child: int, length: int) -> None:
        self._lib.llama_memory_seq_cp(self._memory, 0, child, 0, length)
        self._lengths[child] = length

    def decode(self, count: int) -> None:
        self._run([(TOKEN, sequence, True) for sequence in range(count)])

    def _run(self, rows: list[tuple[int, int, bool]]) -> None:
        batch = self._batch
        batch.n_tokens = len(rows)
        for i, (token, sequence, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i] = token, self._lengths[sequence]
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, sequence, wanted
            self._lengths[sequence] += 1
        status = self._lib.llama_decode(self._context, batch)
        if status != 0:
            raise RuntimeError(f"llama_decode gave {status}")
        self._lib.llama_get_logits(self._context)  # waits for the end


def losses(logits: np.ndarray, targets: list[int]) -> np.ndarray:
    top = logits.max(-1, keepdims=True)
    sums = np.exp(logits - top).sum(-1, dtype=np.float64)
    wanted = logits[np.arange(len(targets)), targets] - top[:, 0]
    return np.log(sums) - wanted.astype(np.float64)


def _to_stderr(level: int, text: bytes, data: Any) -> None:
    sys.stderr.write(text.decode("utf-8", "replace"))


def _resident_weights() -> int:
    total, of_weights = 0, False
    with open("/proc/self/smaps", encoding="utf-8") as file:
        for line in file:
            first, *rest = line.split()
            if not first.endswith(":"):  # the first line of a mapping ends with its file
                of_weights = bool(rest) and rest[-1].endswith((".bin", ".gguf"))
            elif of_weights and first == "Rss:":
                total += int(rest[0]) * 1024
    return total


class Worker:
    def __init__(
        self, backend: Backend, clock: Callable[[], float] = time.perf_counter, computed: int = 0
    ) -> None:
        self._backend, self._clock = backend, clock
        self._computed = computed  # first tokens of a history; the others are copies (0: none is)
        self.kv_bytes_per_token = backend.kv_bytes_per_token
        self._history = -1
        rng = np.random.default_rng(0)
        self._text = [int(t) for t in rng.integers(20, backend.vocab_size - 1000, 1 << 16)]

    def prefill(self, tokens: int, history: int) -> float:
        """Seconds for `tokens` more tokens behind that many."""
        self._begin(history)
        begin = self._clock()
        self._backend.extend(self._text[history : history + tokens])
        return self._clock() - begin

    def decode(self, batch: int, history: int, steps: int) -> float:
        """Seconds for one step of `batch` sequences."""
        self._begin(history)
        for child in range(1, batch):
            self._backend.fork(child, history)
        self._backend.decode(batch)
        begin = self._clock()
        for _ in range(steps):
            self._backend.decode(batch)
        return (self._clock() - begin) / steps

    def page_bytes(self, length: int) -> int:
        """What a step of one sequence of that length reads of pages."""
        return self._backend.page_bytes(length)

    def greedy(self, ids: list[int], count: int) -> list[tuple[int, float]]:
        """The likeliest tokens behind `ids`, each with its lead over the second likeliest."""
        self._backend.truncate(0)
        self._history, rows = -1, ids
        found: list[tuple[int, float]] = []
        for _ in range(count):
            logits = self._backend.logits(rows)[-1]
            second, first = np.partition(logits, -2)[-2:]
            found.append((int(logits.argmax()), float(first - second)))
            rows = [found[-1][0]]
        return found

    def quality(self, windows: str, output: str) -> None:
        """Each window (token ids, a JSON file) from an empty history: writes the loss of each
        token after its first, and the likeliest token in its place."""
        with open(windows, encoding="ascii") as file:
            pieces = json.load(file)
        self._history = -1
        costs, best = [], []
        for ids in pieces:
            self._backend.truncate(0)
            for begin in range(0, len(ids) - 1, 256):
                inputs = ids[begin : min(begin + 256, len(ids) - 1)]
                logits = self._backend.logits(inputs)
                targets = ids[begin + 1 : begin + 1 + len(inputs)]
                costs.append(losses(logits, targets))
                best.append(logits.argmax(-1))
        np.savez(output, losses=np.concatenate(costs), best=np.concatenate(best))

    @staticmethod
    def memory() -> dict[str, int]:
        """Bytes: the most that was resident, and what is now, by kind. "weights": of mapped files
        of weights; experts that no token chose are not among them."""
        wanted = {"VmHWM": "peak", "RssAnon": "anonymous", "RssFile": "file"}
        with open("/proc/self/status", encoding="utf-8") as file:
            fields = dict(line.split(":", 1) for line in file)
        found = {ours: int(fields[name].split()[0]) * 1024 for name, ours in wanted.items()}
        return found | {"weights": _resident_weights()}

    def _begin(self, history: int) -> None:
        """Sequence 0 has that many tokens, computed once."""
        known = self._history if 0 < self._history <= history else 0
        own = min(history, self._computed or history)
        known = min(known, own) if known < history else known
        self._backend.truncate(known)
        if known < own:
            self._backend.extend(self._text[known:own])
        if max(known, own) < history:
            self._backend.repeat(history)
        self._history = history


def _worker(name: str, options: dict[str, Any], clock: Callable[[], float]) -> Any:
    if name in ("ours", "peer"):
        backend = Ours(options) if name == "ours" else Peer(options)
        return Worker(backend, clock, options.get("computed", 0))
    import generators

    return generators.GeneratorWorker(generators.GENERATORS[name](options), clock)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print
    options = json.loads(sys.argv[2])
    begin = time.perf_counter()
    clock = time.process_time if options.get("processor_time") else time.perf_counter
    worker = _worker(sys.argv[1], options, clock)
    loaded = [time.perf_counter() - begin, worker.kv_bytes_per_token]
    print(json.dumps(loaded), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = getattr(worker, command.pop("do"))(**command)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
