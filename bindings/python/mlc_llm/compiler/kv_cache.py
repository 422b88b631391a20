"""The precision of cached keys and values: `kv_cache_dtype`."""

from __future__ import annotations

from mlc_llm.compiler.kernels.common.attention_shape import Q8
from mlc_llm.compiler.targets import GPU, Device
from mlc_llm.errors import InvalidRequestError, UnsupportedError

AUTO = "auto"  # as exact as the inputs of linear layers
PAGE_DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "q8": Q8}
NAMES = {dtype: name for name, dtype in PAGE_DTYPES.items()}


def checked(name: str) -> str:
    """The name, if it is one."""
    if name not in (AUTO, *PAGE_DTYPES):
        offered = ", ".join((AUTO, *PAGE_DTYPES))
        raise InvalidRequestError(
            f"kv_cache_dtype {name}: must be one of {offered}", param="kv_cache_dtype"
        )
    return name


def page_dtype(name: str, device: Device | GPU) -> str:
    """The `page_dtype` of a name that is not AUTO."""
    dtype = PAGE_DTYPES[checked(name)]
    is_gpu = isinstance(device, GPU)
    if is_gpu and (dtype == "bfloat16" or (dtype == "float16" and not device.half_rows)):
        offered = "f32, f16 or q8" if device.half_rows else "f32 or q8"
        raise UnsupportedError(
            f"kv_cache_dtype {name}: {device.name} has no kernels for it; choose {offered}",
            param="kv_cache_dtype",
        )
    return dtype
