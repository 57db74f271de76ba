"""A trace of some steps, by JAX's profiler, for the page "Profile" of TensorBoard: CONTRACT.md, section 7."""

import os
import shutil
from pathlib import Path

import jax

PLACE = Path("tensorboard/plugins/profile")  # where TensorBoard looks for traces


class Trace:
    """Only the first process makes one. It is made aside and gets its name when it is whole. A failure ends no
    training. `asked`: of the job; `first`: the first step of this attempt; `warn` takes a line."""

    def __init__(self, asked, first, run_dir, attempt, warn):
        self._warn, self._aside, self._begun = warn, run_dir / "trace.part", False
        self._first, self._behind, self._place = 0, 0, None  # no step has the number 0
        if not asked or jax.process_index():
            return
        shutil.rmtree(self._aside, ignore_errors=True)
        name = f"step-{asked['step']}"
        place = run_dir / PLACE
        made = place.is_dir() and any(other.name.endswith(name) for other in place.iterdir())
        if made:
            return
        if first > asked["step"]:
            warn(f"profile: step {asked['step']} lies behind step {first}, with which this attempt begins, and "
                 f"there is no trace of it on this machine; name a later step")
            return
        self._first, self._behind = asked["step"], asked["step"] + asked["steps"]
        self._place = place / f"attempt-{attempt}-{name}"

    def before(self, step, state):
        """Call before each step. `state`: what the steps before it make, for which a trace waits at its ends."""
        if step == self._first and not self._begun:
            self._try(self._begin, state)

    def after(self, step, state):
        """Call after each step, with what it makes."""
        if step + 1 >= self._behind:
            self.end(state)

    def end(self, state):
        """Ends a trace that has begun, also if it has fewer steps than were asked for: what comes between two steps is
        no part of it."""
        if self._begun:
            self._try(self._keep, state)
            self._begun, self._first = False, 0

    def _begin(self, state):
        jax.block_until_ready(state)
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0  # the calls of Python hide what devices do
        jax.profiler.start_trace(self._aside, profiler_options=options)
        self._begun = True

    def _keep(self, state):
        try:
            jax.block_until_ready(state)
        finally:
            jax.profiler.stop_trace()
        made, = (self._aside / "plugins/profile").iterdir()
        self._place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(made, self._place)
        shutil.rmtree(self._aside, ignore_errors=True)

    def _try(self, work, state):
        try:
            work(state)
        except (OSError, RuntimeError, ValueError) as error:
            self._warn(f"profile: there is no trace of step {self._first}: {error}")
