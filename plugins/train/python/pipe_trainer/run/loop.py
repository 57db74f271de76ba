"""The loop of a run: takes steps, saves and evaluates between them, goes back, stops."""

import math
import time
from typing import NamedTuple

import jax

from .. import hosts
from ..checkpoints import ckpt
from ..checkpoints.continuation import Continuation
from ..checkpoints.digests import BEFORE_DECAY, BEST
from ..checkpoints.environment import difference
from ..checkpoints.resume import check, facts_of
from ..checkpoints.selection import Selection
from ..data import blocks
from ..data.feed import Feed
from ..eval import portion
from ..exits import DIVERGED, RESUMABLE, TRANSIENT, Ended
from ..model import model
from ..model.regularizers import evaluated
from ..optim import optim, pruning, step
from ..processes import agreed
from .kept_events import told_of
from .programs import Programs
from .throughput import Throughput, flops_per_token
from .trace import Trace

FIRST_SAVE_SECONDS = 600  # an attempt has a checkpoint of its own by then, however far apart the job wants them
GO_ON, SAVE, STOP = range(3)  # what a process wishes; the greatest wish of all of them is in the metrics of a step


class Report(NamedTuple):
    step: int
    tokens: int
    rate: float
    metrics: object  # step.METRICS, on the devices


class Loop:
    """`evaluate(params, told)` returns a dict of scores, or None if it was asked to stop. `told`: the numbers of events
    that earlier attempts have told of this evaluation, by kind; `is_whole(told)`: whether none is missing."""

    def __init__(self, setup, events, clock, stop, evaluate, is_whole=lambda told: told.get("eval", 0) > 0):
        self.setup, self.job, self.config = setup, setup.job, setup.config
        self.events, self.clock, self.stop, self._evaluate = events, clock, stop, evaluate
        self._is_whole = is_whole
        self.programs = Programs(setup)
        self.position = hosts.position()
        self.checkpoints = self._open_checkpoints()
        self.continuation = Continuation(self.job, portion.rows_of(setup))
        self.selection = Selection(self.job, self.checkpoints)
        self.feed = Feed(setup.rows, setup.mesh, self.config.batch, setup.objective.weigh)
        self.done = 0        # steps
        self.consumed = 0    # samples: the only state of the data
        self.rewinds, self.rate_scale = 0, 1.0
        self.evaluated = None  # the newest scores, with their step
        self._diverging = ""   # why it goes back; empty: it does not
        self._back_at = None   # step of the checkpoint to which it went back
        self._updated = False  # whether an update was taken since the newest checkpoint
        self._saved = None   # step of the newest checkpoint
        self._save_by = math.inf  # time of the first checkpoint of this attempt
        self._trace = None  # before the first step of this attempt
        self._began = False  # whether this attempt has taken a step
        self._unread = None  # the Report of the last step
        self._needs = 0

    def _open_checkpoints(self):
        place, keep = self.job.run_dir / "checkpoints", self.job.keep_checkpoints
        if self.position.hosts == 1:
            return ckpt.Checkpoints(place, keep)
        from ..checkpoints.host_ckpt import HostCheckpoints
        return HostCheckpoints(place, keep, self.programs.like, self.position, self._need, lambda: self.stop.asked)

    def _need(self, step, names):
        """Asks the stage for files of a checkpoint. Returns the id of the question."""
        self._needs += 1
        number = f"{self.position.attempt}-{jax.process_index()}-{self._needs}"
        self.events.phase("fetch")
        self.events.emit("need", id=number, step=step, files=names)
        return number

    @property
    def tokens(self):
        return self.consumed * self.config.model.seq_len

    @property
    def asked(self):
        """Whether to stop, as this process alone can tell. Several processes agree by a metric of a step."""
        return self.stop.asked and jax.process_count() == 1

    def begin(self):
        """Starts at the newest checkpoint, or with a fresh state."""
        passed = []  # steps of checkpoints that an earlier one replaces
        found = self._newest(passed) if self.position.hosts == 1 else self._agreed(passed)
        if found is None:
            self.state = self.programs.fresh()
            return
        self.done, self.state, facts = found
        self._saved = self.done
        self.continuation.restore(self.done, facts)
        self.selection.restore(facts)
        self.consumed, self.rewinds = facts["samples_consumed"], facts["rewinds"]
        self.rate_scale = facts["rate_scale"]
        self.events.step = self.done
        if passed and passed[-1] != self.done:
            self.selection.forget_beyond(self.done)  # first: after a kill nothing else tells that it is to be done
            self.checkpoints.drop_beyond(self.done)
            self.events.emit("extend", **{"from": passed[-1], "to": self.done})
        other = difference(facts)
        if other:
            self._warn(f"{self.checkpoints.path(self.done)}: {other}")
        self.events.emit("restore", path=self.checkpoints.path(self.done))
        if self.continuation.keeps(self.done) and self.done < self.job.steps:
            if self.checkpoints.pinned(BEFORE_DECAY) != self.done:
                self._pin(BEFORE_DECAY)

    def _agreed(self, passed):
        """Returns the checkpoint that all hosts restore, as the stage says."""
        step = self.position.resume
        self.selection.forget_beyond(-1 if step is None else step)
        self.checkpoints.begin_at(step)
        if step is None:
            return None
        if self.checkpoints.lacks(step):
            raise Ended(TRANSIENT, f"{self.checkpoints.path(step)}: is not on the disk of every host")
        return self._newest(passed)

    def _newest(self, passed=None):
        """Returns the newest good checkpoint. `passed`, given if the job may ask for more steps than before: gets the
        steps of the checkpoints that an earlier one replaces."""
        def instead(step, facts):
            earlier = None if passed is None else self.continuation.instead(self.checkpoints, step, facts)
            if earlier is not None:
                passed.append(step)
            return earlier
        while found := ckpt.latest_good(self.checkpoints, self.programs.like,
                                        lambda where, facts: check(self.setup, where, facts), self._warn, instead):
            if self.position.hosts > 1 or self.programs.finite(found[1]):  # several hosts agreed on the step
                break
            self._warn(f"{self.checkpoints.path(found[0])}: its weights are not finite; going back to the one before")
            self._forget(found[0])
        return found

    def _warn(self, text):
        self.events.emit("warn", text=text)

    def run(self):
        """Trains up to the last step, or until evaluations get no better. Raises Ended(42) if asked to stop."""
        try:
            self._run()
        except blocks.Stopped:
            self._preempt()
        finally:
            if self._trace is not None:
                self._trace.end(self.state)

    def _run(self):
        if self.over:
            return
        if self._saved == self.done and self.done and self._evaluates():
            told = self._told()
            if not self._is_whole(told) or self.selection.missed(self.done):
                self.evaluate(told)
            if self._diverging:
                self._go_back()
            if self.over:
                return
        if self.asked:
            self._preempt()
        self.throughput = Throughput(self.setup, self.clock)
        self._trace = Trace(self.job.profile, self.done + 1, self.job.run_dir, self.position.attempt, self._warn)
        self._phase("compile")
        batch = self._load()
        self.programs.compile(self.state, batch)
        if self.asked:
            self._preempt()
        self._phase("step")
        self._save_by = time.monotonic() + FIRST_SAVE_SECONDS
        while not self.over:
            read = self._unread
            self._take(batch)
            batch = self._load(self._unread.metrics)
            wish = self._observe(read)
            first = wish == SAVE and self._save_by < math.inf
            if self._due() or self.asked or first:
                wish = max(wish, self._observe(self._unread), STOP if self.asked else GO_ON)
                self._unread = None
            if not self._diverging:
                if wish == STOP and self.done < self.job.steps:
                    self._preempt()
                elif self._due() or first:
                    self._between(first)
            if self._diverging:
                batch = self._rewind()
        self.clock.become("init")

    def _wish(self):
        if self.stop.asked:
            return STOP
        return SAVE if time.monotonic() >= self._save_by else GO_ON

    def _take(self, batch):
        """Starts the next step. Its metrics are read while the step after it runs."""
        rate = self.rate_scale * optim.learning_rate(self.config.optimizer, self.config.schedule, self.done,
                                                     self.job.steps, self.continuation.warmup)
        self.continuation.takes(self.done)
        self._prune()
        self._trace.before(self.done + 1, self.state)
        with jax.profiler.StepTraceAnnotation("step", step_num=self.done + 1):
            self.state, metrics = self.programs.train(self.state, batch, rate, self._wish())
        self.done += 1
        self._trace.after(self.done, self.state)
        self.consumed += self.config.batch.rows
        self._unread = Report(self.done, self.tokens, rate, metrics)

    def _prune(self):
        """Prunes if it is due before the next update."""
        share = pruning.share_before(self.config.pruning, self.done, self.job.steps, not self._began)
        self._began = True
        if share:
            self.state = self.programs.pruned(self.state, share)
            self.events.emit("prune", step=self.done, share=share)

    def _load(self, running=None):
        """Returns the batch of the next step. Counts its time as waiting of the devices if the running step has ended
        meanwhile."""
        start = time.monotonic()
        with self.clock.enter("data"):
            batch = self.feed.load(self.consumed)
        if running is not None and running.is_ready():
            self.throughput.waited += time.monotonic() - start
        return batch

    def _observe(self, report):
        """Reads the metrics of a step. Returns what the processes wished when they took it."""
        if report is None:
            return GO_ON
        number = self.events.step = report.step
        values = dict(zip(step.METRICS, jax.device_get(report.metrics).tolist()))
        self.throughput.steps += 1
        if values["skipped"]:
            self.events.emit("warn", text=f"step {number}: left out, its loss is {values['loss']:.4g} and its gradient "
                                          f"{values['grad_norm']:.4g}; {values['skips']:.0f} of late")
            limits = self.config.guard
            if values["skips"] > limits.max_skips:
                self._diverging = f"more than {limits.max_skips} of the last {limits.window} updates were left out"
        else:
            self._updated = True
        if number % self.job.log_every == 0 or number == self.job.steps:
            loss = values["loss"] if values["tokens"] else None  # no target of the step was scored
            self.events.emit("step", loss=loss, grad_norm=values["grad_norm"], lr=report.rate,
                             skipped=int(values["skips"]), tokens=report.tokens,
                             **{name: values[name] for name in step.OF_EXPERTS if name in values},
                             **self.throughput.since_last())
        return int(values["stop"])

    def _due(self):
        return (self.done == self.job.steps or self._comes(self.job.checkpoint_every)
                or self._evaluates() or self.continuation.keeps(self.done))

    def _comes(self, every):
        return every and self.done % every == 0

    def _evaluates(self):
        """Whether an evaluation comes after the last step, by its number alone."""
        rows, count = self.config.batch.rows, self.setup.rows.count
        whole = self.done * rows // count > (self.done - 1) * rows // count
        return self._comes(self.job.eval_every) or self.config.eval.each_epoch and whole

    def _between(self, first):
        """Does everything that is due between this step and the next. `first`: a checkpoint is, by time."""
        self._trace.end(self.state)
        if not self.programs.finite(self.state):
            return self._diverges("its weights are not finite")
        last = self.done == self.job.steps
        # While all updates are left out, another checkpoint of the same weights would push out a good one.
        if last or self.continuation.keeps(self.done) or self._updated and (
                first or self._comes(self.job.checkpoint_every)):
            self.save()
        if last or self._evaluates():
            self.evaluate()
        if self.over:
            if self._saved != self.done:
                self.save()
            self.checkpoints.wait()
        else:
            self._phase("step")

    def _told(self):
        """Returns what earlier attempts told of the evaluation of the last step."""
        return agreed(told_of(self.job.run_dir / "events.jsonl", self.done) if jax.process_index() == 0 else None)

    def evaluate(self, told=None):
        self._phase("eval")
        with self.clock.enter("eval"):
            scores = self._evaluate(self.parameters(), told or {})
        if scores is None:
            self._preempt()
        if agreed(scores["loss"] is not None and not math.isfinite(scores["loss"])):
            return self._diverges(f"its validation loss is {scores['loss']}")
        self.evaluated = {"step": self.done, **scores}
        self.selection.note(self.done, scores, self._keep_as_best)

    def _diverges(self, why):
        self._diverging = why
        self._warn(f"step {self.done}: {why}")

    def price(self, params, score):
        """Returns the scores of other parameters, of numpy, after the last step. Gives up the state, because they need
        its room. Raises Ended(42) if asked to stop."""
        self.state = None
        self.programs.release()
        self._phase("eval")
        with self.clock.enter("eval"):
            scores = score(self.programs.placed(params), lambda: self.asked)
        if scores is None:
            self._preempt()
        return scores

    @property
    def over(self):
        return self.done >= self.job.steps or self.selection.ended

    def _keep_as_best(self, scores):
        if self._saved == self.done:
            self._pin(BEST, scores)
        else:
            self.save((BEST,), scores)
            self.checkpoints.wait()

    def _pin(self, name, scores=None):
        self.checkpoints.pin(self.done, name, scores)
        self.events.emit("ckpt_pin", path=self.checkpoints.path(self.done), pinned=name)

    def take_best(self):
        """Replaces the state by the best checkpoint, if one is kept and readable. Returns the step of the state."""
        step = self.checkpoints.pinned(BEST) if self.job.keep_best else None
        if step is None or step == self.done:
            return self.done
        self.state = None  # there is no room for two states
        self.state = ckpt.good(self.checkpoints, step, self.programs.like, self._warn)
        if self.state is not None:
            return step
        self.state = self.checkpoints.restore(self.done, self.programs.like)
        return self.done

    def save(self, pinned=(), best=None):
        self._phase("checkpoint")
        with self.clock.enter("checkpoint"):
            path = self.checkpoints.path(self.done)
            self.events.emit("ckpt_begin", path=path)
            facts = facts_of(self.setup, samples_consumed=self.consumed, rewinds=self.rewinds,
                             rate_scale=self.rate_scale, **self.continuation.facts(), **self.selection.facts())
            if self.continuation.keeps(self.done):
                pinned = (*pinned, BEFORE_DECAY)
            self.checkpoints.save(self.done, self.state, facts,
                                  lambda number: self.events.emit("ckpt_commit", path=path, step=number), pinned, best)
            self._saved, self._updated, self._save_by = self.done, False, math.inf

    def _rewind(self):
        """Goes back. Returns the next batch."""
        self._go_back()
        return self._load()

    def _go_back(self):
        """Restores the newest good checkpoint, and goes on with the samples behind the harmful ones. A checkpoint is no
        good one if it was evaluated to no number, or if going back to it before led to no update. Raises Ended(86) if
        it went back too often."""
        why, self._diverging, self._unread = self._diverging, "", None
        if self._trace is not None:
            self._trace.end(self.state)
        at, limits = self.done, self.config.guard
        self.rewinds += 1
        with self.clock.enter("lost"):
            if self._saved is not None and (self._saved == at or self._back_at == self._saved and not self._updated):
                self._forget(self._saved)
            if self.rewinds > limits.max_rewinds:
                raise Ended(DIVERGED, f"step {at}: diverged: {why}, after going back {self.rewinds - 1} times; try a "
                                      f"smaller config.optimizer.lr")
            found = self._newest()
            self.done, self.state = found[:2] if found else (0, self.programs.fresh())
            self._saved = self._back_at = self.done if found else None
            self._updated = False
            self.continuation.restore(self.done, found and found[2])
        self.state = self.programs.forgive(self.state)
        self.rate_scale *= limits.lr_factor
        self.events.emit("rewind", **{"from": at, "to": self.done})
        self.events.step = self.done

    def _forget(self, step):
        """Removes the checkpoint of this step, the newest one."""
        self.selection.forget_beyond(step - 1)  # first: after a kill nothing else tells that it is to be done
        self.checkpoints.drop_beyond(step - 1)

    def settle(self):
        """Evaluates, if an earlier attempt took every step."""
        while self.evaluated is None:
            self.evaluate(self._told())
            if self._diverging:
                self._go_back()
                self.run()

    def _preempt(self):
        self._observe(self._unread)
        self._unread = None
        self.events.emit("preempt")
        self.checkpoints.wait()
        if not self.done:
            raise Ended(RESUMABLE, "stopped before the first step; the same command begins again")
        if self._saved != self.done:  # no look at the disk: another worker of this host may still move files there
            if not self.programs.finite(self.state):
                raise Ended(RESUMABLE, f"stopped at step {self.done}, whose weights are not finite; the same command "
                                       f"goes on from the checkpoint before it")
            self.save()
            self.checkpoints.wait()
        raise Ended(RESUMABLE, f"stopped at step {self.done}: {self.checkpoints.path(self.done)} is committed, and the "
                               f"same command goes on from it")

    def _phase(self, name):
        self.events.phase(name)
        self.clock.become(name if name in ("compile", "step") else "init")

    def whole_parameters(self):
        """Returns the parameters, unsharded, on each process."""
        return self.programs.whole(self.parameters())

    def parameters(self):
        """Returns the parameters that are scored, sampled from and exported, as the devices hold them."""
        return self.programs.parameters(evaluated(self.state))

    def plan(self):
        causal, full = flops_per_token(self.config)
        batch = self.config.batch.rows
        return {"params": model.count(self.programs.model_like), "flops_per_token": causal,
                "flops_per_token_full": full, "tokens_per_step": batch * self.config.model.seq_len,
                "steps": self.job.steps, "epochs": self.job.steps * batch / self.setup.rows.count}
