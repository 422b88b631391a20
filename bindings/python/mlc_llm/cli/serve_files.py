"""The files that options of `mlc_llm serve` name: keys, certificates, and a socket."""

from __future__ import annotations

import argparse
import ssl
from pathlib import Path

from mlc_llm.errors import InvalidRequestError


def check_files(args: argparse.Namespace) -> None:
    """Names the file that is missing or is none."""
    if args.uds_mode is not None and args.uds is None:
        raise InvalidRequestError("--uds-mode: give the socket too, by --uds", param="uds")
    if args.ssl_keyfile and not args.ssl_certfile:
        raise InvalidRequestError(
            "--ssl-keyfile: give the certificate too, by --ssl-certfile", param="ssl_certfile"
        )
    if not args.ssl_certfile:
        return
    for option in ("ssl_certfile", "ssl_keyfile"):
        path, flag = getattr(args, option), f"--{option.replace('_', '-')}"
        try:
            if path:
                Path(path).read_bytes()
        except OSError as error:
            raise InvalidRequestError(f"{flag} {path}: {error.strerror}", param=option) from error
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.ssl_certfile, args.ssl_keyfile)
    except (ssl.SSLError, OSError) as error:
        raise InvalidRequestError(
            f"--ssl-certfile {args.ssl_certfile}: no certificate and key in PEM that belong "
            f"together: {error}",
            param="ssl_certfile",
        ) from error


def api_keys_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The key of the command line and those of the file."""
    keys = [args.api_key] if args.api_key else []
    if args.api_key_file is not None:
        try:
            lines = Path(args.api_key_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequestError(f"--api-key-file: {error}", param="api_key_file") from None
        words = [line.strip() for line in lines]
        found = [word for word in words if word and not word.startswith("#")]
        if not found:
            raise InvalidRequestError(
                f"--api-key-file: there is no key in '{args.api_key_file}'", param="api_key_file"
            )
        keys += found
    return tuple(keys)


def file_mode(text: str) -> int:
    """The bits of a file's mode, written as for chmod. Raises ValueError."""
    mode = int(text, 8)
    if not 0 <= mode <= 0o777:
        raise ValueError(text)
    return mode
