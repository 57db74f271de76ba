"""Text from a model: `python -m pipe_trainer.sample --run DIR --prompt TEXT`, from what a run exported."""

import argparse
import sys
from pathlib import Path

from . import finished


def generate(params, config, ids, length, temperature=0.8, top_p=0.95, seed=0, stop=-1, compute=None,
             cached=None):
    """Returns up to `length` ids that follow `ids`. The last one is `stop`, if it occurs; -1: nothing stops.

    A document may be longer than a row. If a row is full, its last half begins the next one, as a row of the training
    may begin inside a document. `cached` False: computes every id from all ids before it."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from .decoding import go_on

    if not ids:
        raise ValueError("generation begins with at least one id: that of eos begins a document")
    cached = config.family == "llama" if cached is None else cached
    row, made = max(config.seq_len, 2), []
    while len(made) < length:
        known = [*ids, *made]
        if len(known) >= row:
            known = known[-(row // 2):]
        until = min(row, len(known) + length - len(made))
        padded = np.zeros(row, np.int32)
        padded[:len(known)] = known
        key = jax.random.fold_in(jax.random.key(seed), len(ids) + len(made) - len(known))
        numbers = [np.int32(number) for number in (len(known), until, stop)]
        out, end = go_on(params, padded, *numbers, np.float32(temperature), np.float32(top_p), key,
                         config=config, compute=compute or jnp.float32, cached=cached)
        made += np.asarray(out)[len(known):int(end)].tolist()
        if made[-1] == stop:
            break
    return made


def continuation(params, config, text, prompt, length, **choices):
    """Returns the text that the model writes behind `prompt`, up to the end of the document."""
    stop = text.eos if text.newline >= 0 else -1  # without a newline id eos ends every line, not only a document
    made = generate(params, config, text.prompt_ids(prompt), length, stop=stop, **choices)
    return text.text_of(made[:-1] if made and made[-1] == stop else made)


def bounded(kind, low, high):
    def parse(text):
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: not between {low} and {high}")
        return value
    parse.__name__ = kind.__name__
    return parse


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
    found = finished.find(options.run, continues_text=True)
    made = continuation(found.params, found.model, found.text(), options.prompt, options.length,
                        temperature=options.temperature, top_p=options.top_p, seed=options.seed)
    sys.stdout.reconfigure(encoding="utf-8")
    print(options.prompt + made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
