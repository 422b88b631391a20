"""What an app asks of an engine beside answers: less memory, a warm start, less heat; and the
folders that it gives."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from codegen.schema.base import ClosedEnum, Model, field, maybe


class TrimLevel(ClosedEnum):
    """How much memory is given back; each level includes those before it."""

    CACHES = "caches", "What only the prefix cache holds."
    PAGES = "pages", "Also the memory of KV pages that no running answer uses."
    ALL = (
        "all",
        "Also the pages of running answers, which are computed again later and stay the same, and "
        "weights that can be read from their files again.",
    )


class TrimRequest(Model):
    """How much memory the engine gives back."""

    level: TrimLevel = field(TrimLevel.CACHES, "How much.")


class TrimResponse(Model):
    """What was given back."""

    pages: int = field(..., "KV pages whose memory went back to the system.", ge=0)
    page_bytes: int = field(
        ..., "The memory of them; 0 on devices that keep their memory.", unit="bytes", ge=0
    )
    weight_bytes: int = field(
        ..., "Weights that the system may drop and read again.", unit="bytes", ge=0
    )


class PrewarmRequest(Model):
    """What is made ready before the first request."""

    step: bool = field(True, "Whether a step of one token is computed; its result is thrown away.")


class PrewarmResponse(Model):
    """What was made ready."""

    weight_bytes: int = field(
        ..., "Weights that were read into memory from their files.", unit="bytes", ge=0
    )


class ThermalState(ClosedEnum):
    """How hot a device is, by iOS's names. Answers stay the same in every state."""

    NOMINAL = "nominal", "Cool: no limits. Android's none and light."
    FAIR = "fair", "Smaller chunks of prompts. Android's moderate."
    SERIOUS = "serious", "Half of the threads and of the answers at a time. Android's severe."
    CRITICAL = "critical", "One thread, one answer at a time. Android's critical and higher."


class ThermalHint(Model):
    """How hot the device is."""

    state: ThermalState = field(..., "The state.")


class ThermalLimits(Model):
    """The limits that hold now."""

    num_threads: int = field(..., "Threads that compute.", ge=1)
    max_num_sequence: int = field(..., "Answers that are generated at the same time.", ge=1)
    prefill_chunk_size: int = field(..., "Tokens of one step.", unit="tokens", ge=1)


class Directories(Model):
    """The folders that a program gives to the engine, for the whole process."""

    cache: Annotated[str, Field(min_length=1)] | None = maybe(
        "For files that are kept, such as compiled GPU programs. Absent: `MLC_LLM_HOME`, or "
        "`mlc_llm` in the user's cache folder."
    )
    temporary: Annotated[str, Field(min_length=1)] | None = maybe(
        "For files that are removed again. Absent: `cache` if it is given, else the system's "
        "folder for temporary files."
    )
    libraries: list[Annotated[str, Field(min_length=1)]] | None = maybe(
        "Where model libraries and device backends also are. Absent: nowhere else."
    )
