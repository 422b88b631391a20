"""Data out of texts: each file becomes a line of JSON that fits the type `Invoice`.

python extract.py FILE ... [--model MODEL]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from mlc_llm import MLCEngine
from mlc_llm.errors import UnfinishedAnswerError


class Item(BaseModel):
    name: str = Field(max_length=60)
    count: int = Field(ge=1, le=9999)


class Invoice(BaseModel):
    """What the engine enforces while the model writes. A description helps the model."""

    sender: str = Field(max_length=60, description="Who wrote the invoice.")
    currency: Literal["EUR", "USD", "other"]
    total: float = Field(ge=0, le=1_000_000)
    items: list[Item] = Field(max_length=10)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("files", nargs="+", type=Path)
    arguments.add_argument("--model", nargs=1, default=[])
    options = arguments.parse_args()
    with MLCEngine(*options.model) as engine:
        for path in options.files:
            text = path.read_text(encoding="utf-8")
            try:
                answer = engine.chat.completions.parse(
                    messages=[{"role": "user", "content": f"Read this invoice:\n\n{text}"}],
                    response_format=Invoice,
                    temperature=0,
                    max_tokens=1000,
                )
            except UnfinishedAnswerError as error:
                print(f"{path}: {error}")
                continue
            invoice = answer.choices[0].message.parsed
            assert invoice is not None
            print(invoice.model_dump_json())


if __name__ == "__main__":
    main()
