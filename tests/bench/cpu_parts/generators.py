"""Programs that only answer whole prompts, for worker.py: a prompt's time is that of an answer of
one token, a step's time the difference to a longer answer. No prompt comes twice, so that no cache
of prompts helps.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Generator(Protocol):
    """Reads the prompt, writes `count` tokens, and forgets both."""

    vocab_size: int

    def generate(self, ids: list[int], count: int) -> None: ...


class IkLlama:
    """ik_llama.cpp, with weights laid out again when they are loaded (`-rtr 1`)."""

    def __init__(self, options: dict[str, Any]) -> None:
        from ik_llama_cpp import _ctypes_api as lib

        self._lib = lib
        lib.llama_backend_init()
        model_params = lib.llama_model_default_params()
        model_params.use_mmap, model_params.repack_tensors = False, True
        model = lib.llama_model_load_from_file(options["gguf"].encode(), model_params)
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = 4096, 512, 512, 1
        params.n_threads = params.n_threads_batch = options["threads"]
        params.flash_attn = True
        self._context = lib.llama_init_from_model(model, params)
        self._batch = lib.llama_batch_init(512, 0, 1)
        self.vocab_size = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))

    def generate(self, ids: list[int], count: int) -> None:
        self._lib.llama_kv_cache_clear(self._context)
        self._decode(ids, 0)
        for step in range(count - 1):
            self._decode([ids[-1]], len(ids) + step)

    def _decode(self, ids: list[int], begin: int) -> None:
        batch = self._batch
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, begin + i, 1
            batch.seq_id[i][0], batch.logits[i] = 0, i + 1 == len(ids)
        status = self._lib.llama_decode(self._context, batch)
        if status != 0:
            raise RuntimeError(f"llama_decode gave {status}")
        if not self._lib.llama_get_logits_ith(self._context, len(ids) - 1):  # it waits for them
            raise RuntimeError("there are no logits")


class OpenVino:
    """OpenVINO GenAI with its reader of GGUF files."""

    def __init__(self, options: dict[str, Any]) -> None:
        import openvino
        import openvino_genai

        self._tensor = openvino.Tensor
        properties = {"INFERENCE_NUM_THREADS": options["threads"]}
        self._pipeline = openvino_genai.LLMPipeline(options["gguf"], "CPU", properties)
        self._config = self._pipeline.get_generation_config()
        self._config.ignore_eos, self._config.do_sample = True, False
        self.vocab_size = len(self._pipeline.get_tokenizer().get_vocab())

    def generate(self, ids: list[int], count: int) -> None:
        self._config.max_new_tokens = count
        self._pipeline.generate(self._tensor(np.array([ids], np.int64)), self._config)


class MistralRs:
    """mistral.rs, which takes texts: words, until they have as many tokens as are wanted."""

    def __init__(self, options: dict[str, Any]) -> None:
        # Its threads are Rayon's, and of the CPUs that the process may use.
        os.environ["RAYON_NUM_THREADS"] = str(options["threads"])
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options["threads"]])
        import mistralrs

        self._package = mistralrs
        file = Path(options["gguf"])
        which = mistralrs.Which.GGUF(str(file.parent), file.name)
        self._runner = mistralrs.Runner(which, prefix_cache_n=0, max_seqs=1)
        self.vocab_size = 30000  # the words of _text

    def generate(self, ids: list[int], count: int) -> None:
        request = self._package.CompletionRequest(
            self._text(ids), "default", max_tokens=count, temperature=0.0, ignore_eos=True
        )
        answer = self._runner.send_completion_request(request)
        if answer.usage.completion_tokens != count:
            raise RuntimeError(f"{answer.usage.completion_tokens} tokens in place of {count}")

    def _text(self, ids: list[int]) -> str:
        words = " ".join(f"{number}" for number in ids)
        length = len(ids)
        kept = self._runner.tokenize_text(words, False, None)[:length]
        return str(self._runner.detokenize_text(kept, False))


GENERATORS: dict[str, Callable[[dict[str, Any]], Generator]] = {
    "ik_llama": IkLlama,
    "openvino": OpenVino,
    "mistralrs": MistralRs,
}


class GeneratorWorker:
    """What worker.Worker times, by whole answers."""

    kv_bytes_per_token = 0  # unknown

    def __init__(self, generator: Generator, clock: Callable[[], float]) -> None:
        self._generator, self._clock = generator, clock
        self._rng = np.random.default_rng(0)

    def prefill(self, tokens: int, history: int) -> float:
        assert history == 0, "such a program forgets what stood before"
        return self._seconds(tokens, 1)

    def decode(self, batch: int, history: int, steps: int) -> float:
        assert batch == 1, "one sequence"
        one = self._seconds(history, 1)
        return (self._seconds(history, 1 + steps) - one) / steps

    def _seconds(self, tokens: int, count: int) -> float:
        top = self._generator.vocab_size - 1000
        ids = [int(t) for t in self._rng.integers(20, top, tokens)]
        begin = self._clock()
        self._generator.generate(ids, count)
        return self._clock() - begin

    @staticmethod
    def memory() -> dict[str, int]:
        from worker import Worker

        return Worker.memory()
