"""Each objective learns on real text: better than a unigram, and better than the same model with its context shuffled.

    real_text.py rows PLACE PIPE CORPUS       makes the rows of all objectives in a directory
    real_text.py OBJECTIVE PLACE [SEEDS]      learns from them; SEEDS: how many runs, for the margins

Both with the trainer's Python; `./dev soak learning` runs all objectives.
"""

import dataclasses
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import session

import jax
import jax.numpy as jnp

from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.objectives.objective import Drawn

ROOT = Path(__file__).resolve().parents[2]
PRESETS = {"masked": "tiny-masked", "spans": "tiny-spans", "prefix": "tiny-spans", "experts": "tiny-spans"}
# The objective of each case: `experts` are spans with experts.
MORE = {"experts": {"objective": {"name": "spans"}, "model": {"experts": 4, "expert_every": 2}}}
STEPS = {"masked": 800, "spans": 800, "prefix": 300, "experts": 800}
BATCH, LENGTH = 64, 24  # rows of a step, and ids of a row: the order of ids matters earlier in short rows
# In nats for each hidden id: three quarters of the smallest margin of five seeds, or a little less; experts: of three, prefix: of two.
UNIGRAM = {"masked": 1.7, "spans": 1.2, "prefix": 1.2, "experts": 1.3}
SHUFFLED = {"masked": 2.2, "spans": 0.2, "prefix": None, "experts": 0.4}  # None: its decoder learns from its own ids first


def make_rows(place, pipe, corpus):
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([pipe, "run", ROOT / "pipelines/quickstart.yaml", "--set", f"corpus={corpus}", "--set", f"out={place}",
                    "--set", f"stages.packed.seq_len={LENGTH}", "--work", place / "work", "--until", "packed"], check=True, stdout=subprocess.DEVNULL)


class Shuffled(Drawn):
    """An objective whose shown ids of text stand at random among those of their document. What is hidden, and for a
    decoder its own earlier ids, are as before."""

    def __init__(self, inner):
        super().__init__(inner.config)
        self._inner = inner

    def examples(self, tokens, lengths, weights, keys):
        found = self._inner.examples(tokens, lengths, weights, keys)
        segments = found.layout[0]
        stay = (found.ids == self.model.eos) | (segments < 0)
        for number, _ in self._inner.marks():
            stay |= found.ids == number
        if found.places is not None:
            rows = jnp.arange(len(found.ids))[:, None]
            stay |= jnp.zeros_like(stay).at[rows, found.places].set(True)
        return found._replace(ids=jax.vmap(shuffled)(found.ids, segments, stay, keys))


def shuffled(ids, segments, stay, key):
    """Orders the places that move by document, and their ids by document and at random."""
    length = len(ids)
    document = jnp.where(stay, length + 1, segments)
    places = jnp.argsort(document, stable=True)
    at_random = jnp.lexsort((jax.random.uniform(jax.random.fold_in(key, 9), (length,)), document))
    moved = jnp.zeros_like(ids).at[places].set(ids[at_random])
    return jnp.where(stay, ids, moved)


def figures(rows, objective, seed, place):
    """Returns (loss, that with shuffled context, the unigram's) of a fresh model, in nats for each hidden id."""
    from pipe_trainer.run import job
    given = job.parse({"pipe_job": 1, "run_dir": str(place), "steps": STEPS[objective], "seed": seed, "log_every": 50,
                       "eval_every": 0, "checkpoint_every": 100000, "export": False,
                       "config": {"preset": PRESETS[objective], "batch": {"rows": BATCH},
                                  **MORE.get(objective, {"objective": {"name": objective}})},
                       "data": {"dir": str(rows), "train": "train", "validation": "validation"}})
    loop = session.trained(given, None)
    setup = loop.setup
    scorer = HeldOut(setup, loop.events)
    other = HeldOut(dataclasses.replace(setup, objective=Shuffled(setup.objective)), loop.events)
    params = loop.state["params"]
    unigram = {item["name"]: item for item in scorer.baselines(Path(place) / "baselines.json")}["unigram"]
    return (*(one.score(params, lambda: False)["loss"] for one in (scorer, other)), unigram["nats_per_token"])


def learn(objective, rows, seeds):
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        for seed in range(seeds):
            loss, without_order, unigram = figures(rows, objective, seed, Path(place) / f"run{seed}")
            print(f"{objective}, seed {seed}: {loss:.3f} nats; {unigram - loss:.3f} below the unigram, "
                  f"{without_order - loss:.3f} below itself with its context shuffled", flush=True)
            least = SHUFFLED[objective]
            failed += unigram - loss < UNIGRAM[objective] or least is not None and without_order - loss < least
    if failed:
        raise SystemExit(f"real_text.py: {objective}: wanted at least {UNIGRAM[objective]} and {SHUFFLED[objective]}")


def main(asked, place, *more):
    if asked == "rows":
        make_rows(Path(place), *more)
    else:
        learn(asked, Path(place) / "packed", int(*more or (1,)))


if __name__ == "__main__":
    main(*sys.argv[1:])
