"""Continues with more steps than a checkpoint was saved for, if their learning rate falls towards the end."""

import math

from ..config import amount
from ..exits import BAD_JOB, Ended
from .digests import BEFORE_DECAY

FALL_FROM_WARMUP = ("cosine", "linear")


def decay_begins(schedule, steps, warmup=None):
    """Returns the number of updates of a run of `steps` before its learning rate may fall towards the end; None if it
    never falls. `warmup`: in steps; None: as the schedule says."""
    warmup = math.ceil(amount(schedule.warmup, steps) if warmup is None else warmup)
    if schedule.final >= 1:
        return None
    if schedule.name in FALL_FROM_WARMUP:
        begins = warmup
    elif schedule.name == "wsd" and schedule.decay > 0:
        begins = max(math.floor(steps - amount(schedule.decay, steps)), warmup, 0)
    else:
        return None
    return begins if begins < steps else None


class Continuation:
    """Knows the steps that a run was for, its warm-up, the rows of its evaluations, and whether its learning rate has
    begun to fall. A warm-up that is a share of the steps stays as long as it was when the training began: with more
    steps the rate would jump. Evaluations that follow from the steps stay, too: else losses would not compare.

    `eval_rows`: how many rows an evaluation of a training that begins now scores."""

    def __init__(self, job, eval_rows):
        self._job, self._schedule, self.eval_rows = job, job.config.schedule, eval_rows
        self.restore(0, None)

    def restore(self, step, facts):
        if facts is not None and self._job.config.eval.rows is None:
            self.eval_rows = facts.get("eval_rows", 0)  # earlier versions scored all, which is 0
        self.warmup = self._warmup_of(facts)
        self.begins = decay_begins(self._schedule, self._job.steps, self.warmup)
        self.decayed = facts is not None and self._has_decayed(step, facts)

    def takes(self, update):
        """Notes the update of this number, from 0."""
        self.decayed = self.decayed or (self.begins is not None and update >= self.begins)

    def facts(self):
        return {"steps": self._job.steps, "decayed": self.decayed, "warmup": self.warmup, "eval_rows": self.eval_rows}

    def keeps(self, step):
        """Returns whether a checkpoint of this step is the last one from which more steps can start."""
        return (self._schedule.name == "wsd" and self.begins is not None and not self.decayed
                and 0 < step >= self.begins)

    def instead(self, checkpoints, step, facts):
        """Returns the step of the checkpoint from which the run continues instead of this one; None: this one is right.
        Raises Ended if there is no such checkpoint."""
        before = self._steps_of(facts)
        if self._job.steps <= before or not self._has_decayed(step, facts):
            return None
        pinned = checkpoints.pinned(BEFORE_DECAY)
        if pinned is not None and pinned < step:
            return pinned
        if self._schedule.name in FALL_FROM_WARMUP:
            why = f"and with schedule {self._schedule.name} there is no checkpoint before that to go back to"
            instead = "; schedule.name: wsd can be extended"
        else:
            why = "and no checkpoint is pinned before_decay to go back to"
            instead = ""
        raise Ended(BAD_JOB, f"{checkpoints.path(step)}: its learning rate was falling already towards the end at step "
                             f"{before}, {why}: with steps: {self._job.steps} the rate would jump; put steps back to "
                             f"{before}, or train anew with another seed or out{instead}")

    def _warmup_of(self, facts):
        """In steps. Facts of earlier versions lack it: it follows from the steps. With fewer steps it gets shorter."""
        asked = amount(self._schedule.warmup, self._job.steps)
        if facts is None:
            return asked
        begun = facts.get("warmup", amount(self._schedule.warmup, self._steps_of(facts)))
        return min(begun, asked) if self._job.steps < self._steps_of(facts) else begun

    def _steps_of(self, facts):
        return facts.get("steps") or self._job.steps_before or self._job.steps

    def _has_decayed(self, step, facts):
        """Facts of earlier versions lack `decayed`: it follows from the steps."""
        if "decayed" in facts:
            return facts["decayed"]
        begins = decay_begins(self._schedule, self._steps_of(facts), self._warmup_of(facts))
        return begins is not None and step > begins
