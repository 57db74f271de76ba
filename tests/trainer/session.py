"""JAX for tests: a shared cache of compiled programs, and small models over rows in memory."""

import os

import places  # noqa: F401

import jax
import numpy as np

from pipe_trainer.data.rows import Batch
from pipe_trainer.run import devices, job

CACHE = os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(devices.cache_place()))
devices.configure(CACHE)

EOS = 2
SMALL = {"model": {"layers": 2, "d": 32, "heads": 4, "kv_heads": 2, "ff": 64},
         "optimizer": {"lr": 1e-2, "b2": 0.99}, "schedule": {"name": "const", "warmup": 0},
         "batch": {"rows": 8}}


class MemoryRows:
    """The interface of data.Rows over arrays; sample g is row g modulo the number of rows."""

    predictions = None

    reader, model_path, directory, split = "memory", None, "memory", "train"

    def __init__(self, tokens, lengths=None, vocab=61, digest="memory", weights=None, labels=None):
        self.tokens = np.asarray(tokens, np.int32)
        self.count, width = self.tokens.shape
        self.seq_len, self.digest = width - 1, digest
        self.lengths = np.full(self.count, width, np.int32) if lengths is None else np.asarray(lengths, np.int32)
        self.weights = None if weights is None else np.asarray(weights, np.uint8)  # [rows, T + 1]
        self.labels = labels  # of pipe_trainer.data.labels
        self.tokenizer = {"eos_id": EOS, "vocab_size": vocab, "unk_id": 3, "pad_id": 0, "bos_id": 1,
                          "newline_id": 4, "layout": "pipe", "model_digest": "0" * 32, "model": "tokenizer.model"}

    @property
    def targets(self):
        return int((self.lengths - 1).sum() if self.weights is None else self.weights.sum())

    def _batch(self, index):
        weights = None if self.weights is None else self.weights[index]
        size = (self.lengths[index] - 1).astype(np.int64) if weights is None else weights.sum(axis=1, dtype=np.int64)
        return Batch(self.tokens[index], self.lengths[index], 3 * size, size, weights)

    def shuffled(self, first, n):
        return self._batch(np.arange(first, first + n) % self.count)

    def in_order(self, first, n):
        return self._batch(np.arange(first, min(first + n, self.count)))


def random_rows(count=64, seq_len=32, vocab=61, seed=0, documents=True):
    """Random rows, in which documents begin here and there."""
    make = np.random.default_rng(seed)
    tokens = make.integers(5, vocab, (count, seq_len + 1))
    if documents:
        tokens[make.random(tokens.shape) < 0.1] = EOS
    return MemoryRows(tokens, vocab=vocab)


def small_job(run_dir, config=None, **members):
    """A job over rows that the test provides; `config` is merged over SMALL, section by section."""
    merged = {section: {**SMALL.get(section, {}), **(config or {}).get(section, {})}
              for section in {*SMALL, *(config or {})}}
    return job.parse({"pipe_job": 1, "run_dir": str(run_dir), "config": merged, "steps": 10, "log_every": 1,
                      "eval_every": 0, "checkpoint_every": 1000, "export": False,
                      "data": {"dir": "-", "train": "train", "validation": "validation"}, **members})


def setup_of(base, place, rows, devices=None, **sections):
    """The arrangement of a small job; `sections` are merged over `base`, key by key."""
    from pipe_trainer.run.setup import prepare

    merged = {name: {**base.get(name, {}), **sections.get(name, {})} for name in {*base, *sections}}
    return prepare(small_job(place, merged), rows, rows, devices)


def metrics_of_a_step(arranged, rows):
    """step.METRICS of the first step of an arrangement on a CPU, with fresh parameters."""
    from pipe_trainer.optim import step

    whole = arranged.config
    micro, batch = whole.batch.micro, rows.shuffled(0, whole.batch.rows)
    parts = batch.tokens.reshape(micro, len(batch.tokens) // micro, -1), batch.lengths.reshape(micro, -1), None
    with jax.set_mesh(arranged.mesh):
        program = jax.jit(step.make_train_step(whole, arranged.attend, np.float32, arranged.positions, 7,
                                               arranged.objective))
        state = step.new_state(whole, jax.random.key(0))
        return np.asarray(program(state, parts, np.float32(1e-3), np.zeros(arranged.mesh.devices.size, np.float32))[1])


def summed_loss(params, shape, attend, compute, positions, tokens, lengths, weights=None, objective=None, **more):
    """step.summed_loss of a shape, without the loads of experts. `objective` None: that of the default config."""
    from pipe_trainer import config
    from pipe_trainer.objectives import registry
    from pipe_trainer.optim import step

    objective = objective or registry.of(config.Config(model=shape))
    return step.summed_loss(params, objective, attend, compute, positions, (tokens, lengths, weights), **more)[0]


def weights_of(lengths, positions):
    """1 for each target of a row, 0 for padding."""
    return (np.arange(positions) < lengths[..., None] - 1).astype(np.float32)


def refused(test, sections, *words):
    """A job with these sections is refused, in these words."""
    from pipe_trainer import exits

    with test.assertRaises(exits.BadJob) as caught:
        small_job("/nowhere", sections)
    for word in words:
        test.assertIn(word, str(caught.exception))


class Recorder:
    """Replaces Events: keeps the events."""

    def __init__(self):
        self.step, self.told, self.current_phase = 0, [], "init"

    def emit(self, kind, **members):
        self.told.append({"kind": kind, "step": self.step, **members})

    def phase(self, name):
        self.current_phase = name
        self.emit("phase", name=name)

    def of(self, kind):
        return [event for event in self.told if event["kind"] == kind]

    def losses(self):
        return {event["step"]: event["loss"] for event in self.of("step")}


def trained(job_, rows, events=None, stop=None, devices_=None, loop_type=None):
    """Trains a job over `rows`; returns the loop after its last step."""
    from pipe_trainer.run import events as told
    from pipe_trainer.run.loop import Loop
    from pipe_trainer.run.setup import prepare
    from pipe_trainer.run.signals import Stop

    events = events or Recorder()
    setup = prepare(job_, rows, rows, devices_)
    loop = (loop_type or Loop)(setup, events, told.Clock(), stop or Stop(), lambda params, told: {"loss": 0.0})
    try:
        loop.begin()
        loop.run()
    finally:
        loop.checkpoints.close()
    return loop


def flat(tree):
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)])
