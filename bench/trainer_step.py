#!/usr/bin/env python3
"""Speed of a training step beside that of a bare product of matrices, as JSON; run with the trainer's Python.

Both run in this process, in turns, and the fastest turn of each counts: other load on the machine slows both.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "plugins/train/python"))

from pipe_trainer import exits, hosts  # noqa: E402
from pipe_trainer.run import devices, job  # noqa: E402


def options_of(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--config", type=json.loads, default={"preset": "quickstart"}, help="of a job, as JSON")
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--vocab", type=int, default=1000)
    parser.add_argument("--rows", type=int, help="of a step; those of the preset by default")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of a turn")
    return parser.parse_args(argv)


def config_of(options):
    mistakes = []
    config = job.parse_config(options.config, mistakes)
    if mistakes or min(options.seq_len, options.vocab - 5, options.turns, options.steps) < 1:
        raise exits.BadJob(mistakes or ["--seq-len, --vocab, --turns, --steps: too small"])
    from pipe_trainer.objectives import registry
    config, needed = registry.of(config).completed(options.vocab - 1)
    return replace(config, model=replace(config.model, vocab=max(options.vocab, needed), seq_len=options.seq_len),
                   batch=replace(config.batch, rows=options.rows or config.batch.rows, micro=1))


def timed(run, steps):
    start = time.perf_counter()
    run(steps)
    return (time.perf_counter() - start) / steps


class Training:
    """Trains on the same made rows at each step, on one device."""

    def __init__(self, config):
        import jax
        import jax.numpy as jnp

        from pipe_trainer.model import model
        from pipe_trainer.optim import step
        from pipe_trainer.run.arrangement import arrange

        arranged, shape, rows = arrange(config, jax.devices()[:1]), config.model, config.batch.rows
        self.mesh, self.compute, self.attention = arranged.mesh, arranged.compute, arranged.attention
        self._program = jax.jit(step.make_train_step(config, arranged.attend, self.compute, arranged.positions),
                                donate_argnums=0)
        key = jax.random.key(0)
        self.state = step.new_state(config, key)
        tokens = jax.random.randint(key, (1, rows, shape.seq_len + 1), 5, shape.vocab)
        batch = tokens, jnp.full((1, rows), shape.seq_len + 1), None
        base = (jax.jit(lambda: model.init(shape, key))(),) if config.lora.rank else ()
        self._given = batch, jnp.float32(1e-3), jnp.zeros(1), *base

    def __call__(self, steps):
        import jax

        with jax.set_mesh(self.mesh):
            for _ in range(steps):
                self.state, metrics = self._program(self.state, *self._given)
            jax.block_until_ready(metrics)


def measure(config, options):
    import jax
    import jax.numpy as jnp

    from pipe_trainer.model import model
    from pipe_trainer.run.throughput import flops_per_token

    train, shape, rows = Training(config), config.model, config.batch.rows
    key = jax.random.key(0)
    left = jax.random.normal(key, (rows * shape.seq_len, shape.d), train.compute)
    right = jax.random.normal(key, (shape.d, shape.ff), train.compute)
    product = jax.jit(jnp.matmul)

    def multiply(steps):
        for _ in range(steps):
            out = product(left, right)
        jax.block_until_ready(out)

    def both(steps):
        return timed(train, steps), timed(multiply, 20 * steps)

    compile_seconds, _ = both(1)
    turns = [both(options.steps) for _ in range(options.turns)]
    step_seconds, product_seconds = (min(turn[part] for turn in turns) for part in range(2))
    flops = flops_per_token(config)[0] * rows * shape.seq_len
    product_rate = 2 * left.shape[0] * shape.d * shape.ff / product_seconds
    return {"device": jax.devices()[0].device_kind, "attention": train.attention, "config": options.config,
            "model": asdict(shape), "params": model.count(model.shapes(shape)), "tokens_per_step": rows * shape.seq_len,
            "compile_s": round(compile_seconds, 2), "step_ms": round(1e3 * step_seconds, 2),
            "tokens_per_s": round(rows * shape.seq_len / step_seconds),
            "model_gflops": round(flops / step_seconds / 1e9, 1), "product_gflops": round(product_rate / 1e9, 1),
            "ratio": round(flops / step_seconds / product_rate, 3)}


def main(argv):
    options = options_of(argv)
    try:
        config = config_of(options)
    except exits.Ended as error:
        print(f"trainer_step.py: {error}", file=sys.stderr)
        return error.code
    hosts.limit_threads(options.threads)
    devices.configure(str(devices.cache_place()))
    print(json.dumps(measure(config, options)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
