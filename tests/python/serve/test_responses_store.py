"""The store of responses: what it keeps over restarts, what follows what, and what it forgets."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mlc_llm.errors import InvalidRequestError, MLCError, StorageFullError
from mlc_llm.serve.responses_store import KeptResponse, ResponseStore


def kept(number: int, *, previous: str | None = None, size: int = 0, **fields: Any) -> KeptResponse:
    item = {"type": "message", "role": "user", "content": f"{number}" + "x" * size}
    response = {"id": f"r{number}", "status": "completed", "output": [{"n": number}], **fields}
    return KeptResponse(f"r{number}", previous, [item], response)


def test_what_is_put_is_there_after_a_restart(tmp_path: Path) -> None:
    store = ResponseStore(tmp_path / "db")
    store.put(kept(1))
    store.put(kept(2, previous="r1"))
    store.delete("r1")
    store.close()
    store = ResponseStore(tmp_path / "db")
    assert store.get("r2") == kept(2, previous="r1")
    for missing in ("r1", "", "\ud800", "x" * 100_000):
        with pytest.raises(MLCError) as refused:
            store.get(missing)
        assert refused.value.code == "response_not_found"
    with pytest.raises(MLCError) as refused:
        store.conversation("r2", 1000)
    assert refused.value.param == "previous_response_id"


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = ResponseStore(tmp_path / "db")
    store.put(kept(1))
    assert {p.stat().st_mode & 0o077 for p in tmp_path.iterdir()} == {0}
    store.close()


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_what_is_unfinished_cannot_be_followed(status: str) -> None:
    store = ResponseStore()
    store.put(kept(1, status=status))
    store.put(kept(2, previous="r1"))
    with pytest.raises(InvalidRequestError, match=f"'r1' is still {status}") as refused:
        store.conversation("r2", 1000)
    assert refused.value.param == "previous_response_id"


def test_a_conversation_is_in_order_and_has_a_limit() -> None:
    store = ResponseStore()
    for number in range(5):
        store.put(kept(number, previous=f"r{number - 1}" if number else None))
    items = store.conversation("r4", 10_000)
    assert [item.get("n", item.get("content")) for item in items] == [
        value for number in range(5) for value in (f"{number}", number)
    ]
    with pytest.raises(MLCError) as refused:
        store.conversation("r4", 100)
    assert refused.value.code == "body_too_large"


def test_the_oldest_leave_when_the_budget_is_spent(tmp_path: Path) -> None:
    store = ResponseStore(tmp_path / "db", max_bytes=3500)
    for number in range(6):
        store.put(kept(number, size=1000))
    store.put(kept(4, size=1000))  # a new state of it makes it the youngest
    assert [is_kept(store, number) for number in range(6)] == [False] * 3 + [True] * 3
    store.close()
    store = ResponseStore(tmp_path / "db", max_bytes=1500)
    assert [is_kept(store, number) for number in range(3, 6)] == [False, True, False]
    store.put(kept(9, size=5000))  # larger than everything
    assert not is_kept(store, 9)


def test_what_is_unfinished_leaves_last() -> None:
    store = ResponseStore(max_bytes=3500)
    store.put(kept(0, status="in_progress"))
    for number in range(1, 6):
        store.put(kept(number, size=1000))
    store.update(kept(0).response)
    assert store.get("r0").response["status"] == "completed"


def is_kept(store: ResponseStore, number: int) -> bool:
    try:
        store.get(f"r{number}")
    except MLCError:
        return False
    return True


@pytest.mark.parametrize("damage", ["text", "cut", "page", "version"])
def test_a_damaged_file_is_put_aside(
    damage: str, tmp_path: Path, server_log: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "db"
    store = ResponseStore(path)
    for number in range(50):
        store.put(kept(number, size=1000))
    if damage == "version":
        store._database.execute("PRAGMA user_version = 99")
    store.close()
    data = path.read_bytes()
    if damage == "text":
        path.write_bytes(b"no database at all" * 100)
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "page":
        middle = len(data) // 8192 * 4096
        path.write_bytes(data[:4096] + b"\xff" * middle + data[4096 + middle :])
    store = ResponseStore(path)
    assert not is_kept(store, 1)
    store.put(kept(1))
    assert is_kept(store, 1)
    assert len(list(tmp_path.glob("db.damaged-*"))) >= 1 and "damaged" in server_log.text


def test_a_damaged_response_is_not_kept(
    tmp_path: Path, server_log: pytest.LogCaptureFixture
) -> None:
    """SQLite finds no flipped bit inside of a text."""
    path = tmp_path / "db"
    store = ResponseStore(path)
    for number in range(3):
        store.put(kept(number))
    store.put(kept(3, status="in_progress"))
    store.close()
    for whole, damaged in ((b'"status"', b'"stat"s"'), (b'"status"', b'"stat\xf5s"')):
        data = path.read_bytes()
        assert data.count(whole) >= 4
        path.write_bytes(data.replace(whole, damaged))
        store = ResponseStore(path)
        assert not any(is_kept(store, number) for number in range(4))
        assert "damaged" in server_log.text
        for number in range(4):
            store.put(kept(number))
        assert is_kept(store, 1)
        store.close()
    store = ResponseStore(path)
    for number, fields in enumerate(({"status": 5}, {"output": [5]}, {"output": {}})):
        store.put(kept(number, **fields))
        assert not is_kept(store, number)
    store.close()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ResponseStore(tmp_path / "no folder" / "db")
    assert refused.value.param == "responses_db"


def test_a_file_belongs_to_one_server(tmp_path: Path) -> None:
    """Another one would end what the first one is making."""
    path = tmp_path / "db"
    store = ResponseStore(path)
    store.put(kept(1, status="in_progress"))
    with pytest.raises(InvalidRequestError, match="--responses-db .*another process") as refused:
        ResponseStore(path)
    assert refused.value.param == "responses_db"
    assert store.get("r1").response["status"] == "in_progress"
    store.close()
    assert ResponseStore(path).get("r1").response["status"] == "failed"


def test_an_end_that_a_full_disk_does_not_keep_is_a_failure(tmp_path: Path) -> None:
    """Whoever asks for the response again and again would never see its end."""
    store = ResponseStore(tmp_path / "db")
    store.put(kept(1, status="queued"))
    fill_disk(store)
    for status in ("in_progress", "completed"):
        with pytest.raises(StorageFullError, match="--responses-db"):
            store.update(kept(1, size=100_000, status=status, text="x" * 100_000).response)
        expected = "queued" if status == "in_progress" else "failed"
        assert store.get("r1").response["status"] == expected
    store.delete("r1")
    assert not is_kept(store, 1)
    store.close()


def test_a_start_on_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def on_full_disk(*arguments: Any, **options: Any) -> sqlite3.Connection:
        database = connect(*arguments, **options)
        database.execute("PRAGMA max_page_count = 1")
        return database

    monkeypatch.setattr(sqlite3, "connect", on_full_disk)
    with pytest.raises(StorageFullError, match="--responses-db"):
        ResponseStore(tmp_path / "db")


def fill_disk(store: ResponseStore) -> None:
    """Leaves the store no page more than it has."""
    (pages,) = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count = {pages}")


def test_what_was_not_finished_has_failed(tmp_path: Path) -> None:
    store = ResponseStore(tmp_path / "db")
    store.put(kept(1, status="in_progress"))
    store.close()
    response = ResponseStore(tmp_path / "db").get("r1").response
    assert response["status"] == "failed" and "ended" in response["error"]["message"]
