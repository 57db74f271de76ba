"""Going on with more steps than a checkpoint was saved for, where the rate of those falls towards an end."""

import math

from . import optim
from .digests import BEFORE_DECAY
from .exits import BAD_JOB, Ended

FALL_FROM_WARMUP = ("cosine", "linear")


def decay_begins(schedule, steps):
    """How many updates a run of `steps` takes before the rate may fall towards its end; None where it never does."""
    warmup = math.ceil(optim.amount(schedule.warmup, steps))
    if schedule.final >= 1:
        return None
    if schedule.name in FALL_FROM_WARMUP:
        begins = warmup
    elif schedule.name == "wsd" and schedule.decay > 0:
        begins = max(math.floor(steps - optim.amount(schedule.decay, steps)), warmup, 0)
    else:
        return None
    return begins if begins < steps else None


class Continuation:
    """Which steps a run was for, and whether the rate has fallen on the way to where it is."""

    def __init__(self, job):
        self._job, self._schedule = job, job.config.schedule
        self.begins = decay_begins(self._schedule, job.steps)
        self.decayed = False

    def restore(self, step, facts):
        self.decayed = facts is not None and self._has_decayed(step, facts)

    def takes(self, update):
        """The update of this number, from 0."""
        self.decayed = self.decayed or (self.begins is not None and update >= self.begins)

    def facts(self):
        return {"steps": self._job.steps, "decayed": self.decayed}

    def keeps(self, step):
        """Whether a checkpoint of this step is the last one that more steps can start from."""
        return (self._schedule.name == "wsd" and self.begins is not None and not self.decayed
                and 0 < step >= self.begins)

    def instead(self, checkpoints, step, facts):
        """The step of the checkpoint that is gone on from instead of this one; None: this one is."""
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

    def _steps_of(self, facts):
        return facts.get("steps") or self._job.steps_before or self._job.steps

    def _has_decayed(self, step, facts):
        """Versions before did not say it."""
        if "decayed" in facts:
            return facts["decayed"]
        begins = decay_begins(self._schedule, self._steps_of(facts))
        return begins is not None and step > begins
