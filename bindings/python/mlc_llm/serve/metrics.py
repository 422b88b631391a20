"""`/metrics`: the engine's counters under MLC-LLM's names, and histograms of the clients' times."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mlc_llm.serve.registry import ModelRegistry

_LABELLED = re.compile(r"(\w+)\{(\w+)=(\w+)\}")
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
HISTOGRAMS = CollectorRegistry()
TTFT = Histogram(
    "time_to_first_token_seconds", "From the request to its first chunk.",
    buckets=_SECONDS, registry=HISTOGRAMS,
)  # fmt: skip
TPOT = Histogram(
    "time_per_output_token_seconds", "The mean time from chunk to chunk of a request.",
    buckets=_SECONDS, registry=HISTOGRAMS,
)  # fmt: skip
END_TO_END = Histogram(
    "request_latency_seconds", "From the request to its end.",
    buckets=_SECONDS, registry=HISTOGRAMS,
)  # fmt: skip


class RequestTimes:
    """The times of one request, as the server sees them."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self._first: float | None = None
        self._chunks = 0

    def take_chunk(self) -> None:
        self._chunks += 1
        if self._first is None:
            self._first = time.monotonic()
            TTFT.observe(self._first - self.begin)

    def finish_stream(self) -> None:
        now = time.monotonic()
        if self._first is not None and self._chunks > 1:
            TPOT.observe((now - self._first) / (self._chunks - 1))
        END_TO_END.observe(now - self.begin)

    def finish_whole(self) -> None:
        END_TO_END.observe(time.monotonic() - self.begin)


def render(models: ModelRegistry, running: int) -> bytes:
    """Prometheus's text format. `running`: the number of running requests."""
    registry = CollectorRegistry()
    gauge = Gauge("requests_running", "Requests that are being answered.", registry=registry)
    gauge.set(running)
    registry.register(_EngineCollector(models))
    return generate_latest(registry) + generate_latest(HISTOGRAMS)


class _EngineCollector(Collector):
    """All numbers in the engines' metrics. Nested names are joined by `_`; the model is a label."""

    def __init__(self, models: ModelRegistry) -> None:
        self._models = models

    def collect(self) -> Iterable[Metric]:
        families: dict[str, GaugeMetricFamily] = {}
        for model in self._models.all():
            for name, labels, value in _numbers(model.engine.metrics()):
                keys = ["model", *labels]
                family = families.setdefault(name, GaugeMetricFamily(name, name, labels=keys))
                family.add_metric([model.name, *labels.values()], value)
        yield from families.values()


def _numbers(
    metrics: Mapping[str, Any], place: str = ""
) -> Iterator[tuple[str, dict[str, str], float]]:
    """`mean{batch_size=4}` becomes `mean` with a label. A list has the numbers of each step."""
    for key, value in metrics.items():
        found = _LABELLED.fullmatch(key)
        own, labels = (found[1], {found[2]: found[3]}) if found else (key, {})
        # "accept_prob": {"accept_prob{step=0}": 1} contains its name twice.
        repeats = found is not None and f"_{place}".endswith(f"_{own}")
        name = place if repeats else f"{place}_{own}" if place else own
        if isinstance(value, dict):
            yield from _numbers(cast("Mapping[str, Any]", value), name)
        elif isinstance(value, list):
            for step, count in enumerate(cast("list[float]", value)):
                yield name, {"step": str(step)}, count
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, labels, value


def to_json(models: ModelRegistry) -> str:
    return json.dumps({model.name: model.engine.metrics() for model in models.all()})
