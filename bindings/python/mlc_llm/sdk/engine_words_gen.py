# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""The words that settings of an engine take."""

MODES = ("local", "interactive", "server")
KV_CACHE_DTYPES = ("f32", "f16", "bf16", "q8")
PREFILL_MODES = ("hybrid", "chunked")
EMBEDDING_POOLINGS = ("mean", "last", "cls")
PREFIX_CACHE_MODES = ("radix", "disable")
SPECULATIVE_MODES = ("disable", "small_draft", "prompt_lookup", "mtp", "eagle", "medusa")
