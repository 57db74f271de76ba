"""The loop of a run: steps, what is due between them, going back, stopping."""

import time
from dataclasses import asdict

import jax
import numpy as np

from . import ckpt, guard, model, optim, sharding, step
from .exits import BAD_DATA, BAD_JOB, DIVERGED, RESUMABLE, Ended
from .feed import Feed
from .throughput import Throughput


class Loop:
    """`held_out` is called with (step, params) when an evaluation is due, and gives a dict of scores."""

    def __init__(self, setup, events, clock, stop, held_out):
        self.setup, self.job, self.config, self.mesh = setup, setup.job, setup.config, setup.mesh
        self.events, self.clock, self.stop, self.held_out = events, clock, stop, held_out
        self.checkpoints = ckpt.Checkpoints(self.job.run_dir / "checkpoints", self.job.keep_checkpoints)
        self.feed = Feed(setup.rows, self.mesh, self.config.batch)
        self.done = 0        # steps
        self.consumed = 0    # samples: the only state of the data
        self.rewinds, self.rate_scale = 0, 1.0
        self.best, self.evaluated = None, None  # (scores of the best evaluation, of the last one)
        self._build()

    def _build(self):
        shape = jax.eval_shape(lambda: step.new_state(self.config, jax.random.key(0)))
        self.layout = sharding.of_state(self.mesh, shape)
        self.like = ckpt.abstract(shape, self.layout)
        same, rows, lengths = sharding.copies(self.mesh), *2 * [sharding.of_batch(self.mesh, axis=1)]
        stops = sharding.of_devices(self.mesh)
        self.train_step = jax.jit(
            step.make_train_step(self.config, self.setup.attend, self.setup.compute, self.setup.positions),
            in_shardings=(self.layout, rows, lengths, same, stops), out_shardings=(self.layout, same),
            donate_argnums=0)
        count = self.mesh.devices.size
        self._stops = [jax.make_array_from_callback((count,), stops, np.full(count, flag, np.float32).__getitem__)
                       for flag in (0, 1)]

    def fresh(self):
        """The state before the first step; a mesh does not change it."""
        make = jax.jit(lambda key: step.new_state(self.config, key), out_shardings=self.layout)
        return make(jax.random.key(self.job.seed))

    def begin(self):
        """The newest checkpoint, or a fresh state."""
        found = ckpt.latest_good(self.checkpoints, self.like, self._check, lambda text: self.events.emit("warn", text=text))
        if found is None:
            self.state = self.fresh()
            return
        self.done, self.state, facts = found
        self.consumed, self.rewinds = facts["samples_consumed"], facts["rewinds"]
        self.rate_scale, self.best = facts["rate_scale"], facts["best"]
        self.events.step = self.done
        self.events.emit("restore", path=self.checkpoints.path(self.done))

    def facts(self):
        """What a checkpoint holds beside the arrays."""
        return {"samples_consumed": self.consumed, "rewinds": self.rewinds, "rate_scale": self.rate_scale,
                "best": self.best, "data": self.setup.rows.digest, "seed": self.job.seed,
                "model": asdict(self.config.model), "optimizer": self.config.optimizer.name}

    def _check(self, where, facts):
        """A checkpoint of another model or of other rows is not gone on with."""
        kept = {"attention", "compute", "remat", "unroll", "loss_chunk"}  # how it is computed, not what it is
        now = self.facts()
        for key, value in {**now["model"], "optimizer": now["optimizer"]}.items():
            before = facts["optimizer"] if key == "optimizer" else facts["model"].get(key)
            if before != value and key not in kept:
                raise Ended(BAD_JOB, f"{where}: was made with model {key} {before}, and the job says {value}; go back "
                                     f"to that, or take another run directory")
        if (facts["data"], facts["seed"]) != (now["data"], now["seed"]) and not self.config.data.allow_change:
            raise Ended(BAD_DATA, f"{where}: was trained on other rows (content {facts['data']}, seed "
                                  f"{facts['seed']}; now {now['data']}, {now['seed']}); bring those back, or set "
                                  f"config.data.allow_change to go on with these")

    def run(self):
        """Until the last step. Ends by Ended(42) when asked to stop."""
        steps, pending = self.job.steps, None
        self.throughput = Throughput(self.setup, self.state["params"])
        self.phase("compile")
        first = True
        with jax.set_mesh(self.mesh):
            batch = self._load()
            while self.done < steps:
                rate = self.rate_scale * optim.learning_rate(self.config.optimizer, self.config.schedule, self.done, steps)
                self.state, metrics = self.train_step(self.state, *batch, self._scalar(rate),
                                                      self._stops[self.stop.asked])
                self.done += 1
                self.consumed += self.config.batch.rows
                if first:
                    jax.block_until_ready(metrics)
                    self.phase("step")
                    first = False
                if self.done < steps:
                    batch = self._load(metrics)
                reports, pending = [pending, (self.done, metrics, rate)], None
                due = self._due() or jax.process_count() == 1 and self.stop.asked
                if not due:  # the metrics of this step are read when the next one runs
                    pending = reports.pop()
                stopping = any([self._observe(*report) for report in reports if report])
                if self.wants_rewind:
                    batch, pending = self.rewind(), None
                    continue
                if stopping or (due and self.stop.asked and jax.process_count() == 1 and self.done < steps):
                    self.preempt()
                if due:
                    self._between()
        self.clock.become("init")

    def _load(self, running=None):
        """The batch of the next step. It waited where the step that runs meanwhile has ended."""
        start = time.monotonic()
        with self.clock.enter("data"):
            batch = self.feed.load(self.consumed)
        if running is not None and running.is_ready():
            self.throughput.waited += time.monotonic() - start
        return batch

    def _scalar(self, value):
        return jax.device_put(np.float32(value), sharding.copies(self.mesh))

    def _due(self):
        job, done = self.job, self.done
        return (done == job.steps or done % job.checkpoint_every == 0
                or (job.eval_every and done % job.eval_every == 0))

    wants_rewind = False

    def _observe(self, number, metrics, rate):
        """Reads the metrics of a step; true when a worker was asked to stop."""
        values = dict(zip(step.METRICS, jax.device_get(metrics).tolist()))
        self.events.step = number
        self.throughput.steps += 1
        if values["skipped"]:
            self.events.emit("warn", text=f"step {number}: left out, its loss is {values['loss']:.4g} and its gradient "
                                          f"{values['grad_norm']:.4g}; {values['skips']:.0f} of late")
            self.wants_rewind = values["skips"] > self.config.guard.max_skips
        if number % self.job.log_every == 0 or number == self.job.steps:
            self.events.emit("step", loss=values["loss"], grad_norm=values["grad_norm"], lr=rate,
                             skipped=int(values["skips"]), tokens=self.consumed * self.config.model.seq_len,
                             **self.throughput.since_last(self.clock))
        return bool(values["stop"])

    def _between(self):
        """What is due between this step and the next."""
        last = self.done == self.job.steps
        if last or self.job.eval_every and self.done % self.job.eval_every == 0:
            self.evaluate()
        if last or self.done % self.job.checkpoint_every == 0:
            self.save(wait=last)
        self.phase("step")

    def evaluate(self):
        self.phase("eval")
        with self.clock.enter("eval"), jax.set_mesh(self.mesh):
            self.evaluated = {"step": self.done, **self.held_out(self.done, self.state["params"])}
        if self.best is None or self.evaluated["loss"] < self.best["loss"]:
            self.best = self.evaluated

    def save(self, wait=False):
        self.phase("checkpoint")
        with self.clock.enter("checkpoint"):
            path = self.checkpoints.path(self.done)
            self.events.emit("ckpt_begin", path=path)
            self.checkpoints.save(self.done, self.state, self.facts(), self._committed)
            if wait:
                self.checkpoints.wait()

    def _committed(self, number):
        self.events.emit("ckpt_commit", path=self.checkpoints.path(number), step=number)

    def rewind(self):
        """Back to the newest checkpoint, but on with the samples behind those that did the harm."""
        self.wants_rewind = False
        self.rewinds += 1
        at = self.done
        if self.rewinds > self.config.guard.max_rewinds:
            raise Ended(DIVERGED, f"step {at}: diverged: more than {self.config.guard.max_skips} of the last "
                                  f"{self.config.guard.window} updates were left out, after going back "
                                  f"{self.rewinds - 1} times; try a smaller config.optimizer.lr")
        with self.clock.enter("lost"):
            found = ckpt.latest_good(self.checkpoints, self.like, self._check,
                                     lambda text: self.events.emit("warn", text=text))
            self.done, self.state = (found[0], found[1]) if found else (0, self.fresh())
        self.state["guard"] = jax.jit(guard.forgive, out_shardings=self.layout["guard"])(self.state["guard"])
        self.rate_scale *= self.config.guard.lr_factor
        self.events.emit("rewind", **{"from": at, "to": self.done})
        self.events.step = self.done
        return self._load()

    def preempt(self):
        self.events.emit("preempt")
        if self.checkpoints.newest() != self.done:
            self.save()
        self.checkpoints.wait()
        raise Ended(RESUMABLE, f"stopped at step {self.done}, {self.checkpoints.path(self.done)} is committed; the same "
                               f"command goes on")

    def phase(self, name):
        self.events.emit("phase", name=name)
        self.clock.become(name if name in ("compile", "step") else "init")

    def parameters(self):
        """On the host, whole, on every process."""
        whole = jax.jit(lambda tree: tree, out_shardings=sharding.copies(self.mesh))(self.state["params"])
        return jax.device_get(whole)

    def plan(self):
        causal, full = model.flops_per_token(self.config.model, self.state["params"])
        batch = self.config.batch.rows
        return {"params": model.count(self.state["params"]), "flops_per_token": causal, "flops_per_token_full": full,
                "tokens_per_step": batch * self.config.model.seq_len, "steps": self.job.steps,
                "epochs": self.job.steps * batch / self.setup.rows.count}
