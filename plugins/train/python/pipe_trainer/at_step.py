"""A training at one of its checkpoints, without a step: `python -m pipe_trainer.at_step --job FILE`.

The job asks for as many steps as the checkpoint in its run directory has. With `export: true` the model is exported to
RESULTS/export, and its price is printed; else the scores of the checkpoint are. finished.json in the run directory, if
it is there, is the result.json of the whole training.
"""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from . import exits, score
from .atomic import read_json
from .run import finished
from .run import job as jobs


def options_of(argv):
    parser = argparse.ArgumentParser(prog="pipe_trainer.at_step", description=__doc__, allow_abbrev=False)
    parser.add_argument("--job", required=True, metavar="FILE", help="JSON, with the steps of a checkpoint")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets the scores as JSON")
    parser.add_argument("--board", type=Path, metavar="DIR", help="gets a file of the scores for TensorBoard")
    parser.add_argument("--short", action="store_true", help="prints the scores in one line")
    return parser.parse_args(argv)


def facts_of(job):
    """Returns the facts of the checkpoint."""
    from .checkpoints import ckpt
    checkpoints = ckpt.Checkpoints(job.run_dir / "checkpoints", 1)
    try:
        return checkpoints.facts(job.steps)
    finally:
        checkpoints.close()


def of_checkpoint(job, facts):
    """Returns the job with the shape of the model in its checkpoint, if the model that the training began with would
    tell it: that one may be gone. Adapters need it. Raises Ended or BadJob for an export that there cannot be."""
    from .checkpoints.resume import DEFAULTS
    if job.init_from and not job.config.lora.rank:
        shape = {key: facts["model"][key] for key in DEFAULTS if key in facts["model"]}
        job = replace(job, init_from="", config=replace(job.config, model=replace(job.config.model, **shape)))
    model = job.config.model
    if job.export and not model.exports:
        raise exits.Ended(exits.BAD_DATA, f"no program reads an export of the family {model.family}; `pipe eval "
                                          f"--step` scores the checkpoint")
    mistakes = [] if job.init_from else jobs.every_disagreement(job.config)
    if mistakes:
        raise exits.BadJob(mistakes)
    return job


def check_rows(job, rows, facts):
    """Raises Ended if the checkpoint cannot be scored on these rows. `pipe eval` of an export takes more."""
    from .objectives import registry
    instead = "make an export of it with `pipe export`, and score that one"
    if rows.seq_len != facts["model"]["seq_len"]:
        raise exits.Ended(exits.BAD_DATA, f"{rows.directory}: rows of {rows.seq_len} ids, and the checkpoint learned "
                                          f"rows of {facts['model']['seq_len']}; {instead}")
    if rows.digest == facts["data"]:
        return
    if not job.config.data.allow_change:
        raise exits.Ended(exits.BAD_DATA, f"{rows.directory}: its content is {rows.digest}, and the training read rows "
                                          f"of the content {facts['data']}; name these")
    if registry.of(job.config).head:
        raise exits.Ended(exits.BAD_DATA, f"{rows.directory}: the head of the checkpoint learned labels of other rows; "
                                          f"{instead}")


class Checkpoint:
    """The state of a checkpoint on one device, and what scores and exports it."""

    def __init__(self, job, events):
        import jax

        from .data.open_rows import open_rows
        from .eval.generation import Samples
        from .eval.held_out import HeldOut
        from .model.selfcheck import check_attention
        from .run import candidates
        from .run.events import Clock
        from .run.loop import Loop
        from .run.setup import prepare
        from .run.signals import Stop
        facts = facts_of(job)
        rows = [open_rows(job.data["dir"], job.data[split], job.seed, job.config.data.native)
                for split in ("train", "validation")]
        check_rows(job, rows[0], facts)
        self.job, self.events, self.clock = job, events, Clock()
        # No step is taken, so nothing is searched for that would fit one.
        setup = prepare(of_checkpoint(job, facts), *rows, jax.devices()[:1], check=check_attention,
                        fits=lambda config, devices, *_: (candidates.first(config, len(devices)), {}))
        self.setup = replace(setup, job=job)
        self.held_out = HeldOut(self.setup, events)
        self.samples = Samples(self.setup, events, bool(job.prompts))
        self.loop = Loop(self.setup, events, self.clock, Stop(), lambda params, told: None)
        self.loop.begin()
        if self.loop.done != job.steps:
            raise exits.Ended(exits.BAD_DATA, f"{job.run_dir}: has no whole checkpoint at step {job.steps}")
        self.held_out.keep_rows(self.loop.continuation.eval_rows)

    def scores(self):
        """Returns those that an evaluation of the training has."""
        return self.held_out.score(self.loop.parameters(), lambda: False)

    def export(self):
        """Writes the export. Returns the result.json of it."""
        from .run.run import finish
        self.loop.evaluated = {"step": self.loop.done, **self.scores()}
        self.samples(self.loop.whole_parameters)
        whole = read_json(self.job.run_dir / "finished.json") or {}
        finish(self.loop, self.clock, list(whole.get("baselines", {}).values()), self.samples, self.held_out)
        return read_json(self.job.results / "result.json")


def exported(checkpoint):
    """Exports, and returns the lines about the files."""
    from .export.weight_files import WEIGHTS
    result = checkpoint.export()
    place = checkpoint.job.results / result["export"]
    rows = result.get("leaner") or [{"file": WEIGHTS, "weights": "float32", **result["final"],
                                     "bytes_of_file": (place / WEIGHTS).stat().st_size}]
    named = [name for name in ("loss", "bits_per_byte", "bits_per_char") if rows[0].get(name) is not None]
    cells = [(row["file"] or "as trained, in no file", row["weights"],
              f"{row['bytes_of_file']:,}" if row["file"] else "-", *(f"{row[name]:.4f}" for name in named))
             for row in rows]
    return (f"step {result['steps']}, scored on {checkpoint.held_out.limit:,} rows of "
            f"{checkpoint.job.data['validation']}:\n" + score.table(("file", "weights", "bytes", *named), cells))


def scored(checkpoint, options):
    """Scores, and returns the lines about it."""
    from .run.board import Board
    from .run.run import text_of_rows
    job, events, held_out = checkpoint.job, checkpoint.events, checkpoint.held_out
    scores = checkpoint.scores()
    if options.board:
        board = Board(options.board, job.steps, lambda text: events.emit("warn", text=text))
        board({"kind": "eval", "step": job.steps, **scores})
    text = None if held_out.labels is None else text_of_rows(checkpoint.setup, events)
    whole = score.described(f"{job.name} at step {job.steps}", held_out, scores, text)
    if options.json:
        score.write_json(options.json, whole)
    return f"step {job.steps}: {'; '.join(score.summary(whole))}" if options.short else score.text_of(whole)


def main(argv):
    options = options_of(argv)

    def work():
        from .run import devices
        from .run.events import Warnings
        job, events = jobs.read(options.job), Warnings.of_environment(os.environ)
        devices.start(os.environ, lambda text: None)
        checkpoint = Checkpoint(job, events)
        sys.stdout.reconfigure(encoding="utf-8")
        print(exported(checkpoint) if job.export else scored(checkpoint, options))
        checkpoint.loop.checkpoints.close()
    return finished.reported("pipe_trainer.at_step", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
