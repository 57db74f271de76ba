"""For scripts of scenarios: methods of one class that run in their order, each told when it has ended well."""

import sys
import time


def scenario(method):
    """Marks a method that `play` calls."""
    method.is_scenario = True
    return method


def play(scenarios, names=(), arguments=lambda name: ()):
    """Calls the marked methods, or those of them that have one of `names`, with what `arguments` gives for its name."""
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
