"""Text from a model: `python -m pipe_trainer.sample --run DIR --prompt TEXT`, from what a run exported."""

import argparse
import sys
from pathlib import Path

from .exits import BAD_DATA, Ended
from .model import families
from .run import finished
from .run.finished import bounded


def options_of(argv):
    parser = argparse.ArgumentParser(prog="pipe_trainer.sample", description=__doc__, allow_abbrev=False)
    parser.add_argument("--run", type=Path, required=True, help="the directory of a run, or of an export")
    parser.add_argument("--prompt", default="", help="how the document begins; nothing by default")
    parser.add_argument("--length", type=bounded(int, 1, 1_000_000), default=128, help="ids at most (128)")
    parser.add_argument("--temperature", type=bounded(float, 0, 100), default=0.8,
                        help="0: always the likeliest id (0.8)")
    parser.add_argument("--top-p", type=bounded(float, 0, 1), default=0.95,
                        help="from the likeliest ids that reach this probability together (0.95)")
    parser.add_argument("--seed", type=bounded(int, 0, 2**32 - 1), default=0)
    return parser.parse_args(argv)


def main(argv):
    options = options_of(argv)
    return finished.reported("pipe_trainer.sample", lambda: written(options))


def written(options):
    from .eval.generation import continuation
    found = finished.find(options.run)
    if not families.of(found.model).causal:
        answers = "; `pipe predict` asks it for the label of each line" if found.labels is not None else ""
        raise Ended(BAD_DATA, f"{found.place}: a model of the type {found.model.family} continues no text{answers}")
    made = continuation(found.params, found.model, found.text(), options.prompt, options.length,
                        temperature=options.temperature, top_p=options.top_p, seed=options.seed)
    sys.stdout.reconfigure(encoding="utf-8")
    print(options.prompt + made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
