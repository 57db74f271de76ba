"""Decisions from evaluations: the best one, the checkpoint that is kept for it, an early stop."""

import math

import jax

from ..atomic import read_json, write_json
from ..objectives.registry import FALLING
from ..processes import agreed


def judged(scores, metric):
    """Returns the number by which evaluations compare; a smaller one is better. NaN: worse than all."""
    value = scores.get(metric)
    return math.nan if value is None else value if metric in FALLING else -value


class EarlyStop:
    """Counts evaluations in a row that are no better than the best before them. `rule`: of the job; {}: none. `metric`:
    the loss, or a score of labels, which may rise. A loss that is noted is that of `judged`."""

    def __init__(self, rule, steps, metric="loss"):
        self._rule, self._steps, self._metric = rule, steps, metric
        self._best, self._since = None, 0

    def restore(self, kept):
        """Continues the count of a checkpoint. With another number of steps the count begins anew, with another rule
        the best evaluation, too."""
        if kept is None or kept["rule"] != self._rule or kept.get("metric", "loss") != self._metric:
            return
        self._best = kept["best"]
        self._since = kept["since"] if kept["steps"] == self._steps else 0

    def note(self, step, loss):
        if not self._rule:
            return
        if math.isfinite(loss) and (self._best is None or loss < self._best["loss"] - self._rule.get("min_delta", 0.0)):
            self._best, self._since = {"step": step, "loss": loss}, 0
        else:
            self._since += 1

    @property
    def reason(self):
        """The reason to stop, in one line; None: go on."""
        if not self._rule or self._since < self._rule["patience"]:
            return None
        falls = self._metric in FALLING
        if self._best is None:
            best = "any number"
        else:
            best = f"{self._best['loss'] if falls else -self._best['loss']:.4f}, of step {self._best['step']}"
        return (f"in {self._since} evaluations the {self._metric} did not {'fall' if falls else 'rise'} by more than "
                f"{self._rule.get('min_delta', 0.0):g} {'below' if falls else 'above'} {best}")

    def facts(self):
        if not self._rule:
            return None
        metric = {} if self._metric == "loss" else {"metric": self._metric}
        return {"rule": self._rule, "steps": self._steps, "best": self._best, "since": self._since, **metric}


class Best:
    """The best evaluation of a run, over all its attempts: best.json."""

    def __init__(self, path, metric="loss"):
        self._path, self._metric = path, metric
        self.scores = read_json(path)

    def note(self, number, scores):
        value = judged(scores, self._metric)
        if math.isfinite(value) and (self.scores is None or not value >= judged(self.scores, self._metric)):
            self.write({"step": number, **scores})

    def write(self, scores):
        self.scores = scores
        write_json(self._path, scores)

    def forget_beyond(self, step):
        if self.scores is not None and self.scores.get("step", 0) > step:
            self.scores = None
            self._path.unlink(missing_ok=True)


class Selection:
    """The first process decides and tells the others."""

    def __init__(self, job, checkpoints):
        self._job, self._checkpoints = job, checkpoints
        self._main = jax.process_index() == 0
        self._metric = job.config.eval.metric
        self._best = Best(job.run_dir / "best.json", self._metric)
        self._early = EarlyStop(job.early_stop, job.steps, self._metric)
        self._evaluated = None  # step of the newest evaluation
        self._ended = False

    def restore(self, facts):
        self._evaluated = facts.get("evaluated")
        self._early.restore(facts.get("early_stop"))
        self._ended = bool(self._job.early_stop) and agreed(self._early.reason is not None)

    def forget_beyond(self, step):
        if self._main:
            self._best.forget_beyond(step)

    def missed(self, step):
        """Returns whether an evaluation at this step decides something, and the checkpoint does not know it."""
        decides = self._job.keep_best or bool(self._job.early_stop)
        return decides and self._evaluated != step

    def note(self, step, scores, keep):
        """Calls `keep(scores)`, on every process, if the checkpoint of this step is to be kept as the best."""
        if self._evaluated != step:
            self._early.note(step, judged(scores, self._metric))
        self._evaluated = step
        if self._job.keep_best:
            if agreed(self._main and self._beats_kept(scores)):
                keep(scores)
                if self._main:
                    self._best.write({"step": step, **scores})
        elif self._main:
            self._best.note(step, scores)
        if self._job.early_stop:
            self._ended = agreed(self._early.reason is not None)

    def _beats_kept(self, scores):
        kept = self._checkpoints.best()
        value = judged(scores, self._metric)
        before = math.nan if kept is None else judged(kept, self._metric)  # NaN: made for another metric
        return math.isfinite(value) and (math.isnan(before) or value < before)

    @property
    def ended(self):
        """Whether training ends before its last step."""
        return self._ended

    @property
    def reason(self):
        return self._early.reason

    @property
    def best(self):
        """The scores of the best evaluation. If a checkpoint is kept for the best: its scores."""
        return (self._checkpoints.best() if self._job.keep_best else None) or self._best.scores

    def facts(self):
        return {"evaluated": self._evaluated, "early_stop": self._early.facts()}
