"""Resolves `auto`: finds the fastest candidate whose step the devices hold, by the compiler's own figure.

A run keeps its choice in `fit.json`. It searches again only if the devices, the config or the versions differ.
"""

import contextlib
import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import jax

from ..atomic import read_json, write_json
from ..config import as_dict
from ..exits import BAD_JOB, ENVIRONMENT, BadJob, Ended
from ..model import sharding
from ..processes import agreed
from . import candidates, compiled, devices as machine, memory, slices
from .memory import GIB, Figure

MOST_COMPILES = 6
MOST_DEATHS = 2  # compilations that end with an error, before the search gives up
KEPT = "fit.json"
ROOMS_OF_A_STEP = ("data", "model", "objectives", "optim")  # all that a step computes is made there


@dataclass
class Walk:
    """The figures of a search, by rung of the ladder."""
    rungs: list
    usable: int
    figures: dict = field(default_factory=dict)
    best: int | None = None

    @property
    def tried(self):
        return [(self.rungs[rung], figure) for rung, figure in self.figures.items()]


def walk(config, count, usable, measure, slices_=1):
    """Searches candidates.ladder. `measure(candidate)` returns a Figure. Begins at the first rung that fits by
    estimate. While rungs fit, goes on to faster ones, else to smaller ones."""
    rungs = candidates.ladder(config, count, slices_)
    found = Walk(rungs, usable)
    if not rungs:
        return found
    estimates = [candidates.bytes_of(config, rung) for rung in rungs]
    rung = first_below(estimates, usable * memory.SHARE)
    while len(found.figures) < MOST_COMPILES:
        figure = found.figures[rung] = measure(rungs[rung])
        failed = [one for one in found.figures.values() if one.error]
        if figure.fits(usable):
            found.best = rung if found.best is None else min(rung, found.best)
            if rung == 0 or rung - 1 in found.figures:
                break
            rung -= 1
        elif found.best is not None or rung + 1 == len(rungs) or len(failed) >= MOST_DEATHS:
            break
        else:
            rung = next_smaller(rung, estimates, figure, usable, MOST_COMPILES - len(found.figures))
    return found


def first_below(estimates, bound, first=0):
    return next((rung for rung in range(first, len(estimates)) if estimates[rung] <= bound), len(estimates) - 1)


def next_smaller(rung, estimates, figure, usable, left):
    """Returns the next rung to measure. Corrects the estimates by the compiler's figure, because a ladder has more
    rungs than there is time to compile."""
    if left == 1:
        return len(estimates) - 1
    ratio = figure.peak / estimates[rung] if figure.peak else 1.0
    return first_below(estimates, usable * memory.SHARE / max(ratio, 1.0), rung + 1)


def resolve(config, devices, run_dir, tell=lambda text: None):
    """Returns (the config with the choice, the facts to report about it). Calls `tell` with a line before each
    compilation."""
    count, slices_ = len(devices), sharding.slices_of(devices)
    where = f"{devices[0].device_kind} x {count}" + f" in {slices_} slices" * (slices_ > 1)
    usable = memory.of_each(devices) if config.auto else None
    if usable is None:
        config = candidates.unbounded(config, count, slices_)
        return config, told(config, None, None, where)
    key = key_of(config, where)
    kept = agreed(read_kept(Path(run_dir) / KEPT, key))
    candidate = kept and candidates.Candidate(**kept["candidate"])
    if candidate in candidates.every(config, count, slices_):
        return candidate.of(config), told(candidate.of(config), kept["figure"], usable, where, kept=True)

    def measure(candidate):
        tell(f"compiles {candidate}, to see whether {where} holds it")
        return Figure(**agreed(dataclasses.asdict(measured(candidate.of(config), devices))))

    found = walk(config, count, usable, measure, slices_)
    if not found.rungs:
        config = candidates.unbounded(config, count, slices_)  # `arrange` names the uneven key
        return config, told(config, None, usable, where)
    if found.best is None:
        raise refusal(config, found, where, slices.of_devices(devices[0].device_kind, count, slices_))
    candidate, figure = found.rungs[found.best], found.figures[found.best]
    if jax.process_index() == 0:
        keep(Path(run_dir) / KEPT, key, candidate, figure)
    return candidate.of(config), told(candidate.of(config), figure.shown(), usable, where)


def measured(config, devices):
    """Compiles in a process of its own if the devices are a slice that libtpu knows, else in this process."""
    slice_ = slices.of_devices(devices[0].device_kind, len(devices), sharding.slices_of(devices))
    if slice_ is not None:
        try:
            return compiled.elsewhere(config, slice_)
        except compiled.NoTopology:
            pass
    return compiled.figure_of(config, devices)


def told(config, figure, usable, where, kept=False):
    """Returns the facts for hello, config.json and result.json."""
    chosen = {f"{section}.{name}": getattr(getattr(config, section), name) for section, name in config.auto}
    facts = {"devices": where, "chosen": chosen}
    if usable is not None:
        facts |= {"usable_gib": round(usable / GIB, 3), "kept": kept, **(figure or {})}
    return facts


def refusal(config, found, where, slice_):
    """Returns the error if nothing fits: why, in one line, with a slice that would hold it."""
    tried = [figure for _, figure in found.tried]
    if all(figure.error for figure in tried):
        figure = tried[-1]
        if figure.died:
            return Ended(ENVIRONMENT, f"auto: {figure.error}, at each of {len(tried)} candidates (last: "
                                      f"{found.tried[-1][0]}); give this machine more memory, or set batch.micro, "
                                      f"model.remat and mesh yourself")
        return Ended(BAD_JOB, f"auto: {found.tried[-1][0]} does not compile for {where}: {figure.error}")
    least, figure = min(((one, figure) for one, figure in found.tried if figure.peak), key=lambda pair: pair[1].peak)
    text = (f"config: rows of {config.model.seq_len} ids and {candidates.count(config.model) / 1e6:.0f} M parameters "
            f"fit no {where}: {least} is the smallest that was tried and takes {figure.peak / GIB:.2f} GiB of "
            f"{found.usable * memory.SHARE / GIB:.2f}")
    return BadJob([f"{text}; {advice(config, slice_)}"])


def advice(config, slice_):
    holders = [candidates.smallest(config, larger(slice_, slices.every(generation)))
               for generation in ((slice_.generation, None) if slice_ else (None,))]
    names = list(dict.fromkeys(one.name for one in holders if one is not None))
    if not names:
        return "no slice holds it: take a smaller preset, or shorter rows"
    return f"by estimate {' or '.join(names)} holds it, or take a smaller preset or shorter rows"


def larger(than, all_slices):
    """Returns the slices with more memory in total than `than`, because the compiler's answer for that one outweighs an
    estimate. One slice holds more than several with as much memory. `than` None: all."""
    least = 0 if than is None else than.devices * than.bytes + (than.slices == 1)
    return [one for one in all_slices if one.devices * one.bytes >= least]


def key_of(config, where):
    digest = hashlib.sha256(json.dumps(as_dict(config), sort_keys=True).encode()).hexdigest()[:32]
    return {"devices": where, "config": digest, "versions": versions()}


def versions():
    """Returns everything that determines the compiled step: versions of libraries, and a digest of its modules."""
    from importlib import metadata
    found = {name: value for name, value in machine.versions().items() if name in ("jax", "jaxlib", "optax")}
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["libtpu"] = metadata.version("libtpu")
    digest, package = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for path in sorted(path for room in ROOMS_OF_A_STEP for path in (package / room).glob("*.py")):
        digest.update(path.read_bytes())
    return {**found, "step": digest.hexdigest()[:16]}


def keep(path, key, candidate, figure):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"pipe_fit": 1, **key, "candidate": dataclasses.asdict(candidate), "figure": figure.shown()},
               indent=1)


def read_kept(path, key):
    """Returns the kept choice; None if the file is missing, damaged, or written for another run."""
    kept = read_json(path) or {}
    try:
        if kept["pipe_fit"] != 1 or any(kept[name] != value for name, value in key.items()):
            return None
        candidate = candidates.Candidate(**kept["candidate"])
        whole = [candidate.micro, candidate.data, candidate.fsdp, candidate.tensor]
        if not all(type(number) is int and number > 0 for number in whole) or candidate.remat not in candidates.REMAT:
            return None
        figure = {str(name): float(value) for name, value in kept["figure"].items()}
        return {"candidate": dataclasses.asdict(candidate), "figure": figure}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
