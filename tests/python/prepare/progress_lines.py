"""Who gets the progress, in tests."""

from __future__ import annotations


class Lines(list):
    """Collects progress lines."""

    def __call__(self, line):
        self.append(line)

    def text(self):
        return "\n".join(self)
