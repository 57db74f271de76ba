"""A finished run, opened by its export, for programs that use the model: `sample`, `score`, `predict`."""

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

from ..exits import BAD_DATA, DONE, Ended


class Finished(NamedTuple):
    place: Path
    params: object
    model: object   # config.Model
    facts: dict     # of pipe.json
    labels: object  # labels.Labels or number_labels.Numbers that the model answers with, or None

    def text(self):
        from ..data.text import Text, rules_of_export
        tokenizer = self.facts["tokenizer"]
        return Text(self.place / tokenizer["model"], tokenizer, rules_of_export(self.facts))

    def config(self):
        """Returns a config with the model and its objective. Exports of earlier versions do not name it."""
        from ..config import Config, ObjectiveKeys
        from ..model import families
        from ..objectives import registry
        told = self.facts.get("objective") or {"name": registry.implied(self.model).name,
                                               "mask_id": self.facts.get("mask_id")}
        if families.of(self.model).decoder and "objective" not in self.facts:  # its objectives are alike
            raise Ended(BAD_DATA, f"{self.place}: does not say which objective its model learned: it is of an earlier "
                                  f"version; run the pipeline with a new pipe, which exports it again")
        keys = {key: value for key, value in told.items() if key in vars(ObjectiveKeys())}
        return Config(model=self.model, objective=ObjectiveKeys(**keys))


def find(run):
    """Opens a run. Also finds the devices."""
    import jax

    from ..data import number_labels
    from ..export import export
    from . import devices
    devices.find(os.environ)
    place = export.place_in(run)
    if place is None:
        raise FileNotFoundError(f"{run}: no export/model.safetensors there; a run that ended with `export: true` "
                                f"has one")
    params, model, facts = export.read(place)
    # Else each batch would bring all of them to the device anew.
    return Finished(place, jax.device_put(params), model, facts, number_labels.of_facts(facts.get("labels")))


def bounded(kind, low, high):
    def parse(text):
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: not between {low} and {high}")
        return value
    parse.__name__ = kind.__name__
    return parse


def reported(name, work):
    """Returns the exit code of work(), whose failure is one line on stderr."""
    from ..export import export
    from ..export.safetensors import SafetensorsError
    try:
        return work() or DONE
    except BrokenPipeError:  # the reader of the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (OSError, RuntimeError, SafetensorsError, KeyError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return BAD_DATA
    except Ended as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.code
