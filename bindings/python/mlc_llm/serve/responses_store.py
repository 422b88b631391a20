"""Responses that are kept: in a SQLite file, or in memory, within a budget."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlc_llm.errors import InvalidRequestError, MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.errors import readable

_log = logging.getLogger("uvicorn.error")
_VERSION = 1  # of the tables
_TABLE = """
CREATE TABLE IF NOT EXISTS responses (
  number INTEGER PRIMARY KEY,   -- in the order of their making
  id TEXT UNIQUE NOT NULL,
  previous TEXT,
  unfinished INTEGER NOT NULL,
  input TEXT NOT NULL,          -- JSON: the items of its own request
  response TEXT NOT NULL        -- JSON: the object that clients get
)
"""
_FULL = "disk is full"  # in SQLite's message
UNFINISHED = ("queued", "in_progress")
_COLUMNS = "id, previous, input, response"
_SIZE = "LENGTH(CAST(input AS BLOB)) + LENGTH(CAST(response AS BLOB))"


@dataclass(frozen=True)
class KeptResponse:
    """A response, and what it answers. `previous`: the response that it follows."""

    id: str
    previous: str | None
    input: Sequence[dict[str, Any]]
    response: dict[str, Any]

    def items(self) -> Iterable[dict[str, Any]]:
        """What a response that follows this one reads: the input, then the output."""
        yield from self.input
        yield from self.response["output"]


class ResponseStore:
    """The kept responses. When they take more than `max_bytes`, the oldest ones leave. Thread-safe.

    SQLite's journal makes each response whole or absent, also when the process is killed. Its lock
    keeps other processes away until this one has ended.
    """

    def __init__(self, path: Path | None = None, max_bytes: int = 64 << 20) -> None:
        """Opens the file, or makes it. A damaged one is put aside, with a line in the log. Raises
        MLCError if it can be neither read nor made, and if another process has it."""
        self._path = path
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lost: set[str] = set()  # those whose ends could not be written
        self._lock = threading.Lock()
        try:
            self._database = self._open()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if path is None or isinstance(error, sqlite3.OperationalError):
                raise _refusal(path, error) from None
            self._put_aside(path, error)
            self._database = self._open()
        (self._bytes,) = self._database.execute(
            f"SELECT COALESCE(SUM({_SIZE}), 0) FROM responses"
        ).fetchone()
        with self._whole_change():
            self._make_room()

    def put(self, kept: KeptResponse) -> None:
        """Keeps a response, in place of an earlier state of it."""
        # One by one, as Python's other threads wait while one item is written.
        given = f"[{','.join(map(_json, kept.input))}]"
        answer = _json(kept.response)
        unfinished = kept.response["status"] in UNFINISHED
        with self._lock, self._whole_change() as database:
            self._remove(kept.id)
            database.execute(
                "INSERT INTO responses (id, previous, unfinished, input, response) "
                "VALUES (?, ?, ?, ?, ?)",
                (kept.id, kept.previous, unfinished, given, answer),
            )
            self._bytes += len(given.encode()) + len(answer.encode())
            self._make_room()

    def update(self, response: dict[str, Any]) -> None:
        """Keeps a new state of a response. Does nothing if it is not kept. Where its end cannot be
        written, it has failed."""
        answer, unfinished = _json(response), response["status"] in UNFINISHED
        try:
            with self._lock, self._whole_change() as database:
                found = database.execute(
                    "SELECT LENGTH(CAST(response AS BLOB)) FROM responses WHERE id = ?",
                    (response["id"],),
                ).fetchone()
                if found is None:
                    return
                database.execute(
                    "UPDATE responses SET number = (SELECT MAX(number) + 1 FROM responses), "
                    "unfinished = ?, response = ? WHERE id = ?",
                    (unfinished, answer, response["id"]),
                )
                self._bytes += len(answer.encode()) - found[0]
                self._make_room()
        except (MLCError, sqlite3.Error):
            if not unfinished:
                self._lost.add(response["id"])
            raise

    def get(self, response_id: str) -> KeptResponse:
        """Raises MLCError if it is not kept."""
        found = self._find(response_id)
        if found is None:
            raise error_of(
                reasons.RESPONSE_NOT_FOUND,
                f"Response with id '{response_id[:100]}' not found.",
                param="response_id",
            )
        return found

    def delete(self, response_id: str) -> None:
        """Raises MLCError if it is not kept."""
        self.get(response_id)
        self.remove(response_id)

    def remove(self, response_id: str) -> None:
        """Does nothing if it is not kept."""
        with self._lock, self._whole_change():
            self._remove(response_id)

    def conversation(self, response_id: str, max_bytes: int) -> list[dict[str, Any]]:
        """The items of a response and of all that it follows, oldest first. Raises MLCError if one
        of them is not kept, and if they are longer than `max_bytes`."""
        parts: list[list[dict[str, Any]]] = []
        next_id: str | None = response_id
        size = 0
        while next_id is not None:
            found = self._find(next_id)
            if found is None:
                raise error_of(
                    reasons.PREVIOUS_RESPONSE_NOT_FOUND,
                    f"Previous response with id '{next_id[:100]}' not found.",
                    param="previous_response_id",
                )
            if (status := found.response["status"]) in UNFINISHED:
                raise InvalidRequestError(
                    f"The response '{next_id[:100]}' is still {status}: wait until it has ended.",
                    param="previous_response_id",
                )
            items = list(found.items())  # a response also has its tools, which may be long
            parts.append(items)
            size += sum(len(json.dumps(item)) for item in items)
            if size > max_bytes:
                raise error_of(
                    reasons.BODY_TOO_LARGE,
                    f"The conversation of the response has more than {max_bytes} bytes.",
                    param="previous_response_id",
                )
            next_id = found.previous
        return [item for part in reversed(parts) for item in part]

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextlib.contextmanager
    def _whole_change(self) -> Iterator[sqlite3.Connection]:
        """A transaction. If it fails, the count of the bytes is as before too. Raises MLCError if
        the disk is full."""
        before = self._bytes
        try:
            with self._database as database:
                yield database
        except BaseException as error:
            self._bytes = before
            if isinstance(error, sqlite3.Error) and _FULL in str(error):
                raise _disk_full() from None
            raise

    def _open(self) -> sqlite3.Connection:
        name = ":memory:" if self._path is None else str(self._path)
        if self._path is not None:  # conversations are their owner's; SQLite's other files follow
            with contextlib.suppress(OSError):  # SQLite says what is wrong with the path
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, 0o600))
        database = sqlite3.connect(name, timeout=1.0, check_same_thread=False)
        database.text_factory = lambda text: text.decode("utf-8", "replace")  # damaged ones too
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")  # what another server makes goes on
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if state != "ok" or version not in (0, _VERSION):
                words = state if state != "ok" else f"its tables have the version {version}"
                raise sqlite3.DatabaseError(words)
            with database:
                database.execute(_TABLE)
                database.execute(f"PRAGMA user_version = {_VERSION}")
            with contextlib.closing(
                database.execute(f"SELECT {_COLUMNS}, number FROM responses LIMIT 1")
            ):
                pass
            with database:
                _end_unfinished(database)
        except (sqlite3.Error, UnicodeDecodeError):  # the latter: in SQLite's own message
            database.close()
            raise
        return database

    def _put_aside(self, path: Path, error: Exception) -> None:
        aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
        for end in ("", "-wal", "-shm"):
            part = path.with_name(path.name + end)
            if part.exists():
                part.rename(aside.with_name(aside.name + end))
        _log.warning("The responses in %s are damaged (%s); the file is now %s", path, error, aside)

    def _find(self, response_id: str) -> KeptResponse | None:
        with self._lock:
            row = self._database.execute(
                f"SELECT {_COLUMNS} FROM responses WHERE id = ?", (readable(response_id),)
            ).fetchone()
        if row is None:
            return None
        kept = _kept(row)
        if kept is None or kept.id not in self._lost:
            return kept
        return replace(kept, response=_failed(kept.response, "the response could not be kept"))

    def _remove(self, response_id: str) -> None:
        self._lost.discard(response_id)
        row = self._database.execute(
            f"DELETE FROM responses WHERE id = ? RETURNING {_SIZE}", (response_id,)
        ).fetchone()
        if row is not None:
            self._bytes -= row[0]

    def _make_room(self) -> None:
        while self._bytes > self._max_bytes:
            oldest = self._database.execute(
                "SELECT id FROM responses ORDER BY unfinished, number LIMIT 1"
            ).fetchone()
            if oldest is None:
                return
            self._remove(oldest[0])


def _end_unfinished(database: sqlite3.Connection) -> None:
    """Responses that an earlier process did not finish have failed; damaged ones go."""
    rows = database.execute(f"SELECT {_COLUMNS} FROM responses WHERE unfinished").fetchall()
    for kept in filter(None, map(_kept, rows)):
        failed = _failed(kept.response, "the server ended before the response did")
        database.execute(
            "UPDATE responses SET unfinished = 0, response = ? WHERE id = ?",
            (json.dumps(failed), kept.id),
        )
    database.execute("DELETE FROM responses WHERE unfinished")


def _json(value: Any) -> str:
    """Half of a surrogate pair, which SQLite does not take, is a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _refusal(path: Path | None, error: Exception) -> MLCError:
    """Why a file cannot be opened."""
    if _FULL in str(error):
        return _disk_full()
    why = str(error)
    if "locked" in why:
        why = "another process has the file; give each server one of its own"
    return InvalidRequestError(f"--responses-db {path}: {why}", param="responses_db")


def _disk_full() -> MLCError:
    words = (
        "The disk has no room for responses: make room, or choose another file by --responses-db."
    )
    return error_of(reasons.DISK_FULL, words, param="responses_db")


def _failed(response: dict[str, Any], why: str) -> dict[str, Any]:
    error = {"code": "server_error", "message": why}
    return {**response, "status": "failed", "error": error}


def _kept(row: tuple[str, str | None, str, str]) -> KeptResponse | None:
    """None, and a line in the log, if it is damaged: SQLite keeps no check sums."""
    with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError):
        given, response = json.loads(row[2]), json.loads(row[3])
        lists = isinstance(given, list) and isinstance(response["output"], list)
        every = [response, *given, *response["output"]]
        objects = all(isinstance(one, dict) for one in every)
        if lists and objects and isinstance(response["status"], str):
            return KeptResponse(row[0], row[1], given, response)
    _log.warning("The response %s is damaged, and is taken as not kept", row[0])
    return None
