"""examples/lora: its gradients against differences, and an adapter that it trains changes a tiny
model's answers towards what was learnt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[3] / "examples/lora"
sys.path.append(str(EXAMPLE))

import llama  # noqa: E402
import orders  # noqa: E402

SHAPE = llama.Shape(2, 16, 24, 4, 2, 4, 1e-5, 10000.0)


def random_llama() -> llama.Llama:
    rng = np.random.default_rng(0)

    def norm() -> np.ndarray:
        return 1 + 0.1 * rng.standard_normal(16)

    weights = {"model.embed_tokens.weight": rng.standard_normal((11, 16))}
    weights["model.norm.weight"] = norm()
    for i in range(2):
        place = f"model.layers.{i}"
        for name in llama.FUSED:
            shape = sum(SHAPE.widths(name)), 24 if name == "mlp.down_proj" else 16
            weights[f"{place}.{name}.weight"] = 0.3 * rng.standard_normal(shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{place}.{name}.weight"] = norm()
    model = llama.Llama(weights, SHAPE, 1, 3, 2.0)
    for linear in model.linears().values():
        linear.a = [a.astype(float) for a in linear.a]
        linear.b = [0.1 * rng.standard_normal(b.shape) for b in linear.b]
    return model


def test_gradients_are_those_of_the_loss() -> None:
    model, rng = random_llama(), np.random.default_rng(1)
    ids, wanted = rng.integers(0, 11, (2, 2, 5))
    wanted[0, :2] = -1
    states = model.below(ids)
    model.learn(states, wanted)
    grads = {name: list(linear.grads) for name, linear in model.linears().items()}
    for name, linear in model.linears().items():
        for factor, grad in zip(linear.factors, grads[name], strict=True):
            place = np.unravel_index(rng.integers(factor.size), factor.shape)
            losses = []
            for move in (1e-5, -2e-5):
                factor[place] += move
                losses.append(model.learn(states, wanted))
            factor[place] += 1e-5
            np.testing.assert_allclose(
                (losses[0] - losses[1]) / 2e-5, grad[place], rtol=5e-3, atol=1e-6
            )


def test_orders_that_are_held_out_have_other_words() -> None:
    learnt = " ".join(text for text, _ in orders.orders(orders.LEARNT, 400, 1)).split()
    for kind in ("things", "first", "last", "towns"):
        assert not set(getattr(orders.HELD_OUT, kind)) & set(learnt)


def test_a_tiny_model_learns_an_adapter(tiny_hf_folder: Path, tmp_path: Path) -> None:
    quick = "--layers 1 --orders 16 --epochs 3 --batch 4 --minutes 1".split()
    done = subprocess.run(
        [sys.executable, EXAMPLE / "train.py", tiny_hf_folder, "--output", tmp_path / "it", *quick],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "MLC_LLM_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[3][:-1]) for line in done.stdout.splitlines() if "loss" in line]
    assert len(losses) == 3 and losses[-1] < losses[0]
    assert (tmp_path / "it" / "adapter_model.safetensors").is_file()
