"""For scripts of scenarios: runs the methods of one class in their order, and reports each that succeeds."""

import sys
import time


def scenario(method):
    """Marks a method for `play`."""
    method.is_scenario = True
    return method


def play(scenarios, names=(), arguments=lambda name: ()):
    """Calls the marked methods, or those in `names`, each with the arguments `arguments(name)`."""
    marked = [name for name, method in vars(type(scenarios)).items() if hasattr(method, "is_scenario")]
    if strange := set(names) - set(marked):
        sys.exit(f"no scenario is called {', '.join(sorted(strange))}; there are {', '.join(marked)}")
    for name in names or marked:
        began = time.monotonic()
        getattr(scenarios, name)(*arguments(name))
        print(f"ok: {name.replace('_', ' ')} ({time.monotonic() - began:.1f} s)", flush=True)


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
