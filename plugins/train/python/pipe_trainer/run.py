"""A whole run: set up, train, evaluate, leave results."""

import json

import jax

from . import devices
from .atomic import write_text
from .events import Clock
from .held_out import HeldOut
from .job import resolved
from .loop import Loop
from .setup import prepare
from dataclasses import asdict


def run(job, events, stop):
    clock = Clock()
    events.emit("phase", name="init")
    setup = prepare(job)
    main = jax.process_index() == 0
    whole = {**resolved(job), **asdict(setup.config)}
    events.emit("hello", versions=devices.versions(), devices=[str(device) for device in jax.devices()],
                backend=jax.default_backend(), processes=jax.process_count(), attention=setup.attention,
                reader=getattr(setup.rows, "reader", "memory"), config=whole)
    job.run_dir.mkdir(parents=True, exist_ok=True)
    if main:
        write_text(job.run_dir / "config.json", json.dumps(whole, indent=1))
    held_out = HeldOut(setup, events)
    loop = Loop(setup, events, clock, stop, held_out)
    try:
        return through(job, setup, events, clock, loop, held_out, main)
    finally:
        loop.checkpoints.close()


def through(job, setup, events, clock, loop, held_out, main):
    loop.begin()
    result = job.run_dir / "result.json"
    if loop.done >= job.steps and finished(result, loop.done):
        events.emit("bye", summary=json.loads(result.read_text(encoding="utf-8")))
        return
    events.emit("plan", **loop.plan())
    counted = held_out.baselines(job.run_dir / "baselines.json") if main else []
    loop.run()
    if loop.evaluated is None:  # every step was done before
        loop.evaluate()
    summary = {"steps": loop.done, "tokens": loop.consumed * setup.config.model.seq_len, "final": loop.evaluated,
               "best": loop.best, "baselines": {item["name"]: item for item in counted},
               "checkpoint": loop.checkpoints.path(loop.done), "export": None, "goodput": clock.goodput()}
    if main:
        write_text(result, json.dumps(summary, indent=1, ensure_ascii=False))
    events.emit("phase", name="done")
    events.emit("bye", summary=summary)


def finished(result, steps):
    try:
        return json.loads(result.read_text(encoding="utf-8"))["steps"] == steps
    except (OSError, ValueError, KeyError, TypeError):
        return False
