"""RoBERTa and XLM-RoBERTa: BERT, whose table of positions begins with rows that no text uses.

transformers' `models/xlm_roberta/modeling_xlm_roberta.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import bert
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import Source, TensorMap
from mlc_llm.compiler.spec.transforms import Rows


@dataclass(frozen=True, kw_only=True)
class RobertaConfig(bert.BertConfig):
    first_position: int  # row of the table that the first token has
    head_names = ("classifier.dense", "classifier.out_proj")

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        return {**super().fields(read), "first_position": cls._first(read)}

    @classmethod
    def _first(cls, read: ConfigReader) -> int:
        pad = read.integer("pad_token_id", default=1, minimum=0)
        return read.integer("first_position", default=pad + 1)

    @classmethod
    def positions(cls, read: ConfigReader) -> int:
        if "n_positions" in read.config:  # our own config
            return read.integer("n_positions")
        rows = read.integer("max_position_embeddings", default=514)
        if rows <= cls._first(read):
            raise corrupt("max_position_embeddings", "must be larger than pad_token_id + 1")
        return rows - cls._first(read)


def _tensors(c: RobertaConfig) -> TensorMap:
    first = c.first_position
    used = Rows(first, first + c.n_positions, first + c.n_positions)
    return bert.tensors(c).changed(
        layer=bert.TENSORS.layer,
        positions=(Source("embeddings.position_embeddings", (used,)),),
    )


FAMILY = ModelFamily(
    config_class=RobertaConfig,
    decoder=bert.decoder,
    tensors=_tensors,
    pooling="mean",
    has_classifier=True,
)
