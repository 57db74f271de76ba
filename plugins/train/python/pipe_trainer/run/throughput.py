"""Tokens per second, and the share of a device's peak arithmetic that the model's own operations take (MFU)."""

from functools import lru_cache

from ..model import experts, families, model
from ..objectives import registry
from . import slices

# bf16, dense, of one device. A key is the beginning of device_kind. `slices` has those of TPUs.
PEAK_TFLOPS = {"NVIDIA A100": 312, "NVIDIA H100": 989, "NVIDIA H200": 989}


def peak_tflops(kind):
    """Returns the published peak of a kind of device; None if there is none."""
    generation = slices.generation_of(kind)
    if generation is not None:
        return slices.GENERATIONS[generation].tflops
    return next((value for name, value in PEAK_TFLOPS.items() if kind.startswith(name)), None)


def flops_per_token(config):
    """(causal, full): of a training step, recomputation left out; causal counts the half of the scores that exist.
    Adapters are not counted."""
    matrices, scores = operations(config)
    return matrices + scores, matrices + scores * (2 if families.of(config.model).causal else 1)


@lru_cache(maxsize=64)
def operations(config):
    """Returns (operations of the matrices, operations of the scores), of a training step for each position of a row."""
    shape, params = config.model, model.shapes(config.model)
    if families.of(shape).decoder:
        return of_pairs(config, params)
    readout = shape.d * shape.scored + (shape.d ** 2 if "readout" in params else 0)
    matmul = model.count(params["blocks"]) + readout * registry.of(config).places // shape.seq_len
    scores = 12 * shape.layers * shape.heads * shape.head_dim * shape.seq_len
    return of_matrices(config) * matmul, scores // 2 if families.of(shape).causal else scores


def of_matrices(config):
    """Returns the operations of a parameter for each position: two forward, two for the gradient of its inputs, and two
    for its own, which frozen parameters do not have."""
    return 4 if config.lora.rank else 6


def of_pairs(config, params):
    """As operations, for an encoder that reads the rows and a decoder with the slots of the objective, which looks at
    the keys and values of all that was read. Of experts, only those count that a position meets."""
    shape, slots = config.model, registry.of(config).places / config.model.seq_len
    across = model.count({name: params["decoder"]["cross"][name] for name in ("wk", "wv")})
    unused = experts.groups(shape) * (experts.of_layer(shape) - experts.active(shape))
    matmul = model.count(params["encoder"]) - unused + across
    matmul += slots * (model.count(params["decoder"]) - unused - across + shape.d * shape.padded_vocab)
    seen = shape.seq_len * (1 + slots + slots ** 2 / 2)
    return of_matrices(config) * matmul, 12 * shape.layers * shape.heads * shape.head_dim * seen


class Throughput:
    """Counts since the last report. The loop counts steps, its clock measures seconds."""

    def __init__(self, setup, clock):
        self._tokens = setup.config.batch.rows * setup.config.model.seq_len
        self._flops = flops_per_token(setup.config)[0]
        kind = setup.mesh.devices.flat[0].device_kind
        peak = peak_tflops(kind)
        self._peak = peak and peak * 1e12 * setup.mesh.devices.size
        self._clock = clock
        self.steps, self.waited, self._before = 0, 0.0, self._seconds()

    def _seconds(self):
        """Returns the seconds of steps and of their data, without the time between steps."""
        found = self._clock.goodput()["seconds"]
        return found.get("step", 0.0) + found.get("data", 0.0)

    def since_last(self):
        """Returns members of a step event. `data_wait`: the share of the time in which devices waited for rows."""
        now = self._seconds()
        seconds = now - self._before
        rate = self.steps * self._tokens / seconds if seconds > 0 else None
        found = {"tokens_per_s": rate, "data_wait": min(self.waited / seconds, 1.0) if seconds > 0 else None,
                 "mfu": rate * self._flops / self._peak if rate and self._peak else None}
        self.steps, self.waited, self._before = 0, 0.0, now
        return found
