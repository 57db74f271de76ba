"""Makes optimizer_vectors.json: parameters after some steps of the published optimisers. Run once, by hand:

    optimizer_vectors.py adafactor                  with the trainer's Python, whose lock has optax 0.2.8
    optimizer_vectors.py amos FILE                  with a Python that has jax, flax and optax
    optimizer_vectors.py muon FILE                  with a Python that has torch

FILE is jestimator/amos.py of google-research/jestimator at 326824a477feef6d92e6f44175000907a72899ca, or muon.py of
KellerJordan/Muon at 857d1adc159e098212f828d927460782d3da59e9. Each layer's matrix is a parameter of its own there.
Muon's class computes in float32 instead of bfloat16, and each of its parameters has the learning rate that gives the
scale of `muon.SIZE`, and a decay of weights divided accordingly.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
STEPS = 4
DECAY, MOMENTUM = 0.1, 0.9
SHAPES = {"wq": (2, 4, 2, 3), "wo": (2, 2, 3, 4), "w_down": (2, 3, 4), "attn_norm": (2, 4)}  # of two layers
MATRICES = {"wq": (4, 6), "wo": (6, 4), "w_down": (3, 4)}


def rate(step):
    return 0.1 / (1 + step)


def numbers(name, step):
    """Parameters (step 0), or the gradient of a step; of several sizes, with no pattern that a mean would hide."""
    shape = SHAPES[name]
    index = np.arange(np.prod(shape), dtype=np.float64)
    size = 0.3 if step == 0 else 0.5 + step % 2
    return (size * np.sin(1.7 * index + index * index * 0.13 + 2.3 * step + len(name))).reshape(shape).astype(np.float32)


def layers(name, step):
    """The matrices or vectors of the layers."""
    return list(numbers(name, step).reshape(2, *MATRICES.get(name, SHAPES[name][1:])))


def by_optax(make):
    """`make(name, shape)`: a transformation of one array whose updates are added."""
    import jax.numpy as jnp
    found = {}
    for name in SHAPES:
        found[name] = []
        for layer in range(2):
            param = jnp.asarray(layers(name, 0)[layer])
            optimizer = make(name, param.shape)
            state = optimizer.init(param)
            for step in range(STEPS):
                update, state = optimizer.update(jnp.asarray(layers(name, step + 1)[layer]), state, param)
                param = param + update
            found[name].append(param)
    return found


def adafactor(momentum, parameter_scale=False):
    import jax.numpy as jnp
    import optax

    def schedule(count):
        return 0.1 / (1 + jnp.asarray(count))

    def make(name, shape):
        del shape
        published = optax.adafactor(schedule, min_dim_size_to_factor=1,
                                    multiply_by_parameter_scale=parameter_scale, momentum=momentum or None)
        decay = 0.0 if name.endswith("norm") else DECAY

        def update(grad, state, param):
            count, inner = state
            found, inner = published.update(grad, inner, param)
            return found - schedule(count) * decay * param, (count + 1, inner)
        return optax.GradientTransformation(lambda param: (0, published.init(param)), update)
    return by_optax(make)


def loaded(path):
    spec = importlib.util.spec_from_file_location("published", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def amos(path, momentum):
    published = loaded(path)

    def make(name, shape):
        scale = {"attn_norm": 1.0, "w_down": (2 / shape[0]) ** 0.5}.get(name, (1 / shape[0]) ** 0.5)
        kept = (1, shape[1]) if len(shape) == 2 else ()
        return published.amos(lambda count: 0.1 / count, lambda *_: scale, lambda *_: kept, beta=0.99,
                              momentum=momentum or None)
    return by_optax(make)


def muon(path):
    import torch
    published = loaded(path)
    torch.Tensor.bfloat16 = lambda self: self
    found = {}
    for name in MATRICES:
        found[name] = []
        for layer in range(2):
            param = torch.nn.Parameter(torch.tensor(layers(name, 0)[layer]))
            rows, columns = param.shape
            factor = 0.2 * max(rows, columns) ** 0.5 / max(1, rows / columns) ** 0.5
            optimizer = published.SingleDeviceMuon([param], momentum=0.95)
            for step in range(STEPS):
                optimizer.param_groups[0].update(lr=rate(step) * factor, weight_decay=DECAY / factor)
                param.grad = torch.tensor(layers(name, step + 1)[layer])
                optimizer.step()
            found[name].append(param.detach().numpy())
    return found


def main(name, *paths):
    kept = json.loads(FILE.read_text()) if FILE.is_file() else {}
    if name == "muon":
        made = {"muon": muon(*paths)}
    else:
        run = {"adafactor": adafactor, "amos": amos}[name]
        made = {name: run(*paths, 0.0), f"{name} with momentum": run(*paths, MOMENTUM)}
    if name == "adafactor":
        made["adafactor with parameter_scale"] = adafactor(0.0, parameter_scale=True)
    for kind, params in made.items():
        kept[kind] = {leaf: [round(float(value), 7) for value in np.asarray(parts).ravel()]
                      for leaf, parts in params.items()}
    FILE.write_text("{" + ",\n".join(f'"{kind}": {{\n ' + ",\n ".join(
        f'"{leaf}": {json.dumps(values)}' for leaf, values in kept[kind].items()) + "}" for kind in sorted(kept)) + "}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
