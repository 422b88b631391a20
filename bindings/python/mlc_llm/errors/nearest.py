"""Which known name is meant by one that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 200  # characters that are compared


def near_names(name: str, known: Iterable[str], *, most: int = 1, alike: float = 0.6) -> list[str]:
    """The known names that look like `name`, the most alike first. Case does not count."""
    from difflib import get_close_matches  # only errors need it

    names = {one.lower(): one for one in known}
    return [names[one] for one in get_close_matches(name[:_LONGEST].lower(), names, most, alike)]


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """`before` and "did you mean 'NAME'?"; "" where no known name looks like `name`."""
    near = near_names(name, known)
    return f"{before}did you mean '{near[0]}'?" if near else ""
