"""The interface that each kind of device implements."""

from __future__ import annotations

import pytest

from mlc_llm.compiler.nn.cpu.layers import CPULayers
from mlc_llm.compiler.nn.gpu.layers import GPULayers
from mlc_llm.compiler.nn.interface import DeviceLayers


def test_a_device_that_lacks_a_layer_is_refused_where_it_is_written() -> None:
    with pytest.raises(AssertionError, match=r"NewLayers has no \['linear'"):

        class NewLayers(DeviceLayers):
            embedding = CPULayers.embedding


@pytest.mark.parametrize("kind", [CPULayers, GPULayers])
def test_devices_implement_all_of_it(kind: type[DeviceLayers]) -> None:
    assert not kind.__abstractmethods__
    missing = DeviceLayers.__annotations__.keys() - vars(kind).keys()
    assert not missing, "inherited from nowhere"
