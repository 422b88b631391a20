"""Which classifiers are supported: those with one label, which is the score of a reranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported


def classifier_labels(read: ConfigReader) -> int:
    """1 for a cross-encoder, which gives one score of two texts; 0 if there is no classifier."""
    # the function that some programs apply to the score; here a request says it (`raw_scores`)
    read.seen.add("sbert_ce_default_activation_function")
    if not is_classifier(read.config):
        return read.integer("classifier_labels", default=0, minimum=0, maximum=1)
    names = read.config.get("id2label")
    usual = len(names) if isinstance(names, Mapping) and names else 2
    labels = read.integer("num_labels", default=usual)
    if labels != 1:
        raise unsupported(
            "num_labels",
            f"{labels} is not supported: a classifier needs one label, which is the score of a "
            "query and a document",
        )
    return labels


def is_classifier(config: Mapping[str, Any]) -> bool:
    """Whether transformers' class of the model has a classifier behind the layers."""
    names = config.get("architectures")
    first = names[0] if isinstance(names, Sequence) and names else None
    return isinstance(first, str) and first.endswith("ForSequenceClassification")
