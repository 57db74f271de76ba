"""A pipeline file for tests, read by PyYAML."""

import re

import yaml


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def value(pipeline, given):
    """`given`, or the default of the variable that it names."""
    named = re.fullmatch(r"\$\{(\w+)\}", given) if isinstance(given, str) else None
    return pipeline["vars"][named[1]] if named else given


def splits(pipeline, stage):
    """Names of the splits that reach `stage`: made by the stages before it."""
    found = set()
    while stage:
        if isinstance(stage.get("splits"), dict):
            found |= set(stage["splits"])
        stage = pipeline["stages"].get(stage.get("input")) if isinstance(stage.get("input"), str) else None
    return found
