"""Facts of a run in its checkpoints, and the check whether another run may continue from one."""

from dataclasses import asdict

from ..config import FREE, Model
from ..exits import BAD_DATA, BAD_JOB, Ended
from ..optim import optim
from .environment import environment

DEFAULTS = asdict(Model())  # of keys that checkpoints of earlier versions lack


def facts_of(setup, **progress):
    model = {key: value for key, value in asdict(setup.config.model).items() if key not in FREE}
    return {"model": model, "optimizer": optim.kind(setup.config.optimizer),
            "ema": setup.config.regularizers.ema > 0, "data": setup.rows.digest,
            "seed": setup.job.seed, "environment": environment(), **adapters_of(setup), **units_of(setup), **progress}


def units_of(setup):
    """Returns the units in which the head gives a number; none for another head."""
    return setup.rows.labels.units() if setup.config.model.classes else {}


def adapters_of(setup):
    """Returns the facts of adapters, with the digest of the model that they are for; none without adapters."""
    lora = setup.config.lora
    if not lora.rank:
        return {}
    fresh = setup.start.drawn(setup.config.model, setup.rows.labels)
    head = f" with {fresh} of seed {setup.job.seed}" if fresh else ""
    return {"lora": {"rank": lora.rank, "alpha": lora.alpha, "targets": ", ".join(sorted(set(lora.targets)))},
            "base": setup.start.digest + head}


def compared(facts):
    """Returns the facts that make the model, by the names of their keys."""
    adapters = {f"lora.{key}": value for key, value in facts.get("lora", {"rank": 0}).items()}
    return {**facts["model"], "optimizer": facts["optimizer"], "ema": facts.get("ema", False), **adapters}


def check(setup, where, facts):
    """Raises Ended if the checkpoint is of another model or of other rows."""
    now = facts_of(setup)
    made = compared(facts)
    for key, value in compared(now).items():
        before = made.get(key, DEFAULTS.get(key))
        if before != value:
            raise Ended(BAD_JOB, f"{where}: was made with {key} {before}, and the job says {value}; go back to that, "
                                 "or take another run directory")
    if facts.get("base") != now.get("base"):
        raise Ended(BAD_DATA, f"{where}: has adapters for a model of digest {facts.get('base')}, and that of init_from "
                              f"({setup.start.directory}) has {now['base']}; bring the first one back, or take another "
                              f"run directory")
    changed = [name for name in ("data", "seed") if facts[name] != now[name]]
    if changed and not setup.config.data.allow_change:
        name = changed[0]
        raise Ended(BAD_DATA, f"{where}: was trained on rows of {'content' if name == 'data' else name} {facts[name]}, "
                              f"and these have {now[name]}; bring those back, or set config.data.allow_change to go on "
                              f"with these")
    if facts.get("numbers") != now.get("numbers"):
        before, after = (f"mean {one['mean']:g} and deviation {one['deviation']:g}" if one else "no number"
                         for one in (facts.get("numbers"), now.get("numbers")))
        raise Ended(BAD_DATA, f"{where}: its head learned labels of {before}, and those of these rows have {after}; "
                              f"bring the first rows back, or begin another run with its export as init_from")
