"""Finds the libraries in C that the plugin installs beside the package."""

import os
from pathlib import Path


def beside(variable, library):
    """Returns the path in a variable of the environment if it is set, else that beside the package, where the plugin
    installs the library."""
    named = os.environ.get(variable)
    return Path(named) if named else Path(__file__).resolve().parents[2] / library
