"""Times llama.cpp's towers (mtmd) through `llama_cpp`, in an environment of its own.

usage: mtmd_child.py MODEL.gguf MMPROJ.gguf SIDE THREADS ROUNDS

Prints, as JSON, the seconds of each round for one picture of SIDE x SIDE pixels, and its rows.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time

import llama_cpp
import numpy as np
from llama_cpp import mtmd_cpp as mtmd


def main() -> None:
    model_file, projector, side, threads, rounds = sys.argv[1:]
    quiet = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_default_params()
    model = llama_cpp.llama_model_load_from_file(model_file.encode(), params)
    options = mtmd.mtmd_context_params_default()
    options.use_gpu, options.print_timings, options.warmup = False, False, False
    options.n_threads = int(threads)
    context = mtmd.mtmd_init_from_file(projector.encode(), model, options)
    assert context, "mtmd cannot read the tower"
    chunk = _chunk(context, int(side))
    seconds = []
    for _ in range(int(rounds) + 1):  # the first one makes the memory
        begin = time.perf_counter()
        assert mtmd.mtmd_encode_chunk(context, chunk) == 0
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds[1:], "rows": mtmd.mtmd_input_chunk_get_n_tokens(chunk)}))


def _chunk(context: int, side: int) -> int:
    """The one part of a prompt that is a picture."""
    pixels = np.random.default_rng(1).integers(0, 256, (side, side, 3), np.uint8)
    data = (ctypes.c_uint8 * pixels.size).from_buffer(pixels)
    bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(mtmd.mtmd_bitmap_init(side, side, data))
    marker = mtmd.mtmd_default_marker()
    text = mtmd.mtmd_input_text(marker, len(marker), False, True)
    chunks = mtmd.mtmd_input_chunks_init()
    assert mtmd.mtmd_tokenize(context, chunks, ctypes.byref(text), bitmaps, 1) == 0
    every = [
        mtmd.mtmd_input_chunks_get(chunks, i) for i in range(mtmd.mtmd_input_chunks_size(chunks))
    ]
    found = [
        one
        for one in every
        if mtmd.mtmd_input_chunk_get_type(one) == mtmd.MTMD_INPUT_CHUNK_TYPE_IMAGE
    ]
    assert len(found) == 1, len(found)
    return found[0]


main()
