"""A progress bar on standard error: drawn on a terminal, silent elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Advance = Callable[[int], None]


@contextlib.contextmanager
def progress_bar(title: str, total: int, *, enabled: bool = True) -> Iterator[Advance]:
    """Yields a function that moves the bar by a number of bytes."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.update(task, advance=count)
