"""The environment in which a checkpoint was made. Another one may compute other last bits."""

import platform
import sys
from pathlib import Path

import jax

MARK = "made-from"  # `pipe trainer setup` writes it: CONTRACT.md, section 9. If absent: the environment is a user's own


def environment():
    """Returns the facts of this process's environment."""
    try:
        words = (Path(sys.prefix) / MARK).read_text(encoding="utf-8").split()
    except OSError:
        words = []
    return {"requirements": " ".join(words[:2]) or "own", "python": platform.python_version(), "jax": jax.__version__}


def difference(facts):
    """Returns a sentence that names the environment of a checkpoint; None if it is this one. Facts of earlier versions
    lack it."""
    before, now = facts.get("environment"), environment()
    if before in (None, now):
        return None
    named = ", ".join(f"{name} {before.get(name)} and now {value}" for name, value in now.items()
                      if before.get(name) != value)
    return f"was made in another environment: {named}; the training goes on, and its last bits may differ from here on"
