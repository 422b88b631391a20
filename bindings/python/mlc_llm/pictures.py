"""Pictures as parts of messages."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons

if TYPE_CHECKING:
    from mlc_llm.types_gen import ChatCompletionContentPartImageParam, ImageDetail

__all__ = ["PillowImage", "picture", "read_picture"]

MOST_BYTES = 64 << 20  # of a file, as the core allows (media/picture.h)
_URLS = ("data:", "http:", "https:")
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")  # of images that PNG holds


class PillowImage(Protocol):
    """A `PIL.Image.Image`. Pillow need not be installed."""

    @property
    def mode(self) -> str: ...

    def convert(self, mode: str, /) -> Any: ...

    def getexif(self) -> Any: ...

    def save(self, fp: Any, format: str, **params: Any) -> None: ...


def picture(
    source: bytes | bytearray | memoryview | str | os.PathLike[str] | PillowImage,
    *,
    detail: ImageDetail | None = None,
) -> ChatCompletionContentPartImageParam:
    """A picture within a message: of its file's bytes, the path of its file, a `data:` URL, or an
    image of Pillow.

        messages = [{"role": "user", "content": [
            picture("cat.jpg"), {"type": "text", "text": "What is this?"},
        ]}]

    A file is read at once. What is in it, the engine says when it is asked. Raises MLCError for a
    file that cannot be read.
    """
    url = _url(source)
    if detail is None:
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def _url(
    source: bytes | bytearray | memoryview | str | os.PathLike[str] | PillowImage,
) -> str | bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str) and source.startswith(_URLS):
        return source
    if isinstance(source, str | os.PathLike):
        return read_picture(expanded(source))
    if callable(getattr(source, "save", None)) and isinstance(getattr(source, "mode", None), str):
        return _png(source)
    raise error_of(
        reasons.INVALID_TYPE,
        "a picture is the bytes or the path of its file, a data: URL or an image of Pillow, and no "
        f"{type(source).__name__}",
        param="source",
    )


def expanded(path: str | os.PathLike[str]) -> Path:
    """With the home folder in place of `~`; as it is if there is no such user."""
    return Path(os.path.expanduser(path))


def read_picture(path: Path) -> bytes:
    """The bytes of a picture's file. Raises MLCError if it cannot be read, or is too large."""
    try:
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise error_of(
            reasons.FILE_NOT_FOUND, f"there is no picture {path}", param="source"
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise error_of(
            reasons.INVALID_VALUE, f"the picture {path} cannot be read: {why}", param="source"
        ) from None
    if len(found) > MOST_BYTES:
        raise error_of(
            reasons.IMAGE_FILE_TOO_LARGE,
            f"the picture {path} has more than {MOST_BYTES >> 20} MiB",
            param="source",
        )
    return found


def _png(image: PillowImage) -> bytes:
    file = io.BytesIO()
    plain = image if image.mode in _MODES else image.convert("RGB")
    plain.save(file, "PNG", compress_level=1, exif=image.getexif())  # EXIF: how it is turned
    return file.getvalue()
