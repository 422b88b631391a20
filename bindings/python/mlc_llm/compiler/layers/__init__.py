"""The kinds of parts of which layers are made: one module for each.

A module knows everything of its kind: the description that families fill in, the tensors, how it
is built from a device's layers and kernels, the memory that it keeps, and the same in NumPy. It
imports TVM only while it builds, because the converter needs no compiler.
"""

from mlc_llm.compiler.layers.attention import (
    Ahead,
    AttentionSpec,
    Growth,
    HeadNorms,
    Scores,
    Values,
    Window,
)
from mlc_llm.compiler.layers.beside import BesideSpec
from mlc_llm.compiler.layers.channel_delta import ChannelDeltaSpec
from mlc_llm.compiler.layers.delta_rule import DeltaRuleSpec
from mlc_llm.compiler.layers.experts import MoESpec, RouterSpec
from mlc_llm.compiler.layers.latent import LatentSpec
from mlc_llm.compiler.layers.layer_inputs import LayerInput, LayerInputSpec, LayerScale
from mlc_llm.compiler.layers.mlp import MLPSpec
from mlc_llm.compiler.layers.rwkv6 import DecayMixSpec, GatedMixSpec
from mlc_llm.compiler.layers.rwkv7 import ChannelMixSpec, TimeMixSpec
from mlc_llm.compiler.layers.selective import SelectiveSpec
from mlc_llm.compiler.layers.short_conv import ShortConvSpec
from mlc_llm.compiler.layers.state_space import StateSpaceSpec
from mlc_llm.compiler.layers.xielu import XIELUSpec

__all__ = [
    "Ahead",
    "AttentionSpec",
    "BesideSpec",
    "ChannelDeltaSpec",
    "ChannelMixSpec",
    "DecayMixSpec",
    "DeltaRuleSpec",
    "GatedMixSpec",
    "Growth",
    "HeadNorms",
    "LatentSpec",
    "LayerInput",
    "LayerInputSpec",
    "LayerScale",
    "MLPSpec",
    "MoESpec",
    "RouterSpec",
    "Scores",
    "SelectiveSpec",
    "ShortConvSpec",
    "StateSpaceSpec",
    "TimeMixSpec",
    "Values",
    "Window",
    "XIELUSpec",
]
