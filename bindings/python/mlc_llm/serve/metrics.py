"""`/metrics`: the engine's numbers, and histograms of the clients' times.

The names are MLC-LLM's with the prefix `mlc_llm_`. What only grows is a counter, whose name ends in
`_total`; Prometheus computes rates of counters.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mlc_llm.errors import UnavailableError
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.schemas import all_schemas
from mlc_llm.serve.slot import ServedModel

_PREFIX = "mlc_llm_"
# Of the engine's names: what counts from the engine's start, whose end gives way to `_total`.
_COUNTER = re.compile(
    r"(?:(.*)_sum|(?:num_)(steps|preemptions|(?:finished|failed)_requests)|(.*_count))"
)
_LABELLED = re.compile(r"(\w+)\{(\w+)=(\w+)\}")
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
HISTOGRAMS = CollectorRegistry()
TTFT = Histogram(
    _PREFIX + "time_to_first_token_seconds", "From the request to its first chunk.",
    buckets=_SECONDS, registry=HISTOGRAMS,
)  # fmt: skip
TPOT = Histogram(
    _PREFIX + "time_per_output_token_seconds", "The mean time from chunk to chunk of a request.",
    buckets=_SECONDS, registry=HISTOGRAMS,
)  # fmt: skip
END_TO_END = Histogram(
    _PREFIX + "request_latency_seconds", "From the request to its end.",
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
    gauge = Gauge(
        _PREFIX + "requests_running", "Requests that are being answered.", registry=registry
    )
    gauge.set(running)
    registry.register(_EngineCollector(models))
    return generate_latest(registry) + generate_latest(HISTOGRAMS)


class _EngineCollector(Collector):
    """All numbers in the engines' metrics. Nested names are joined by `_`; the model is a label."""

    def __init__(self, models: ModelRegistry) -> None:
        self._models = models

    def collect(self) -> Iterable[Metric]:
        families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
        for model in self._models.all():
            for name, labels, value in _numbers(_metrics_of(model)):
                if name not in families:
                    families[name] = _family(name, ["model", *labels])
                families[name].add_metric([model.name, *labels.values()], value)
        yield from families.values()


def _family(name: str, labels: list[str]) -> GaugeMetricFamily | CounterMetricFamily:
    """A counter or a gauge, with the sentence that the protocol has for the name."""
    described = all_schemas()["EngineMetrics"]["properties"].get(name, {})
    words = described.get("description", name)
    counted = _COUNTER.fullmatch(name)
    if counted is None:
        return GaugeMetricFamily(_PREFIX + name, words, labels=labels)
    own = next(group for group in counted.groups() if group)
    return CounterMetricFamily(_PREFIX + own, words, labels=labels)


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
    return json.dumps({model.name: _metrics_of(model) for model in models.all()})


def _metrics_of(model: ServedModel) -> dict[str, Any]:
    """Empty if the model is being unloaded."""
    try:
        return model.engine.metrics()
    except UnavailableError:
        return {}
