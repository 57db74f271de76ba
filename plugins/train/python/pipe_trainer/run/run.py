"""A whole run: sets up, trains, evaluates, writes the results."""

import os
from functools import partial
from pathlib import Path

import jax

from ..atomic import read_json, write_json
from ..checkpoints.resume import adapters_of
from ..config import Export, as_dict
from ..data import sentencepiece_model
from ..data.blocks import Blocks
from ..data.text import Text, rules_of
from ..eval.generation import Samples
from ..eval.held_out import HeldOut
from ..exits import Ended
from ..export import costs, export, gguf_tokenizer
from ..model.selfcheck import check_attention
from ..processes import agreed
from . import candidates, devices
from .board import Board
from .events import Clock
from .loop import Loop
from .setup import prepare


def run(job, events, stop):
    clock = Clock()
    events.emit("phase", name="init")
    alone = jax.process_count() == 1  # else the other processes wait for this one's next step
    blocks = Blocks.of_environment(os.environ, job.data["train"], events, lambda: alone and stop.asked)
    setup = prepare(job, tell=partial(compiling, events), check=check_attention, blocks=blocks)
    if events.current_phase != "init":  # programs were compiled, to see whether they fit
        events.phase("init")
    whole = as_dict(setup.config)
    events.emit("hello", versions=devices.versions(), devices=[str(device) for device in jax.devices()],
                backend=jax.default_backend(), processes=jax.process_count(), attention=setup.attention,
                reader=setup.rows.reader, config=whole, fit=setup.fit)
    if setup.lack:
        events.emit("warn", text=setup.lack)
    if (job.prompts or job.export) and rules_of(job.lineage) is None:
        events.emit("warn", text="the corpora of the mix have different keys of `normalize`: prompts, `pipe sample`, "
                                 "`predict` and the tokenizer of the export change no text; give them a text in the "
                                 "form of its corpus")
    job.run_dir.mkdir(parents=True, exist_ok=True)
    job.results.mkdir(parents=True, exist_ok=True)
    main = jax.process_index() == 0
    if main:
        write_json(job.results / "config.json", {**whole, "fit": setup.fit}, indent=1)
    held_out = HeldOut(setup, events)
    samples_fit = bool(job.prompts) and candidates.holds_whole(setup)
    samples = Samples(setup, events, samples_fit)
    text = text_of_rows(setup, events) if held_out.labels is not None and main else None
    if job.prompts and not samples_fit:
        events.emit("warn", text="no samples are written: one device cannot hold the whole model beside its part of "
                                 "the training; `pipe sample` writes them from the export")

    def evaluate(params, told):
        scores = held_out.score(params, lambda: loop.asked)
        if scores is None:
            return None
        if not told.get("eval"):
            events.emit("eval", split=job.data["validation"], **scores)
        if text is not None and not told.get("mistakes"):
            events.emit("mistakes", documents=held_out.mistakes(text))
        samples(loop.whole_parameters, told.get("sample", 0))
        return scores

    shows = agreed(text is not None)  # the first process alone makes text

    def is_whole(told):
        return bool(told.get("eval") and (told.get("mistakes") or not shows)
                    and told.get("sample", 0) >= samples.number)

    loop = Loop(setup, events, clock, stop, evaluate, is_whole)
    try:
        loop.begin()
        held_out.keep_rows(loop.continuation.eval_rows)
        before = read_json(job.results / "result.json") or {}
        if loop.done >= job.steps and agreed(before.get("steps") == loop.done):  # the first process writes it
            events.emit("bye", summary=before)
            loop.checkpoints.close()
            return
        if main:
            events.listen(Board(job.run_dir / "tensorboard", loop.done + 1,
                                lambda text: events.emit("warn", text=text)))
        events.emit("plan", **loop.plan(), eval_rows=held_out.limit)
        counted = held_out.baselines(job.run_dir / "baselines.json") if main else []
        loop.run()
        loop.settle()
        finish(loop, clock, counted, samples, held_out)
    except BaseException:
        loop.checkpoints.abandon()
        raise
    loop.checkpoints.close()


def text_of_rows(setup, events):
    """Returns the Text of the rows, to show documents; None if this machine cannot make text."""
    try:
        return Text(setup.rows.model_path, setup.rows.tokenizer)
    except (Ended, RuntimeError) as error:
        events.emit("warn", text=f"no documents are shown beside the scores: {error}")
        return None


def compiling(events, text):
    """Reports a program that is compiled to see whether it fits. Its time counts as the phase `compile`."""
    events.phase("compile")
    events.emit("fit", text=text)


def finish(loop, clock, counted, samples, held_out):
    """Writes the export and result.json, on the first process."""
    job, setup, events = loop.job, loop.setup, loop.events
    best = loop.selection.best
    facts = {"name": job.name, "recipe": job.recipe, "seed": job.seed, "steps": loop.done, "tokens": loop.tokens,
             "params": loop.plan()["params"], "config": as_dict(setup.config), "evaluation": loop.evaluated,
             "baselines": counted, "lineage": job.lineage, "samples": samples.latest, "weights": setup.rows.weights,
             "init_from": "/".join(Path(job.init_from).parts[-2:]) if job.init_from else None}
    summary = {"steps": loop.done, "tokens": loop.tokens, "final": loop.evaluated, "best": best,
               "baselines": {item["name"]: item for item in counted}, "samples": samples.latest,
               "checkpoint": f"checkpoints/{loop.done}", "export": None}
    if setup.config.lora.rank:
        facts["adapters"] = {**adapters_of(setup), "params": loop.programs.learned}
    if loop.done < job.steps:
        summary["stopped_early"] = {"step": loop.done, "reason": loop.selection.reason}
        events.emit("early_stop", reason=loop.selection.reason)
    if job.export:
        events.phase("export")
        with clock.enter("export"):
            step = loop.take_best()
            if step != loop.done:
                facts.update(of_best(loop, step, best, samples))
                summary["export_step"] = step
            summary["export"], leaner = write_export(loop, facts, samples, held_out)
            if leaner:
                summary["leaner"] = leaner
    summary["goodput"] = clock.goodput()
    summary["fit"] = setup.fit
    if jax.process_index() == 0:
        write_json(job.results / "result.json", summary, indent=1, ensure_ascii=False)
    events.phase("done")
    events.emit("bye", summary=summary)


def of_best(loop, step, best, samples):
    """Returns the facts of the model card for an export that is not of the last step."""
    tokens = loop.checkpoints.facts(step)["samples_consumed"] * loop.config.model.seq_len
    return {"steps": step, "tokens": tokens, "evaluation": best, "samples": samples.written(loop.whole_parameters)}


def write_export(loop, facts, samples, held_out):
    """Writes the export. Returns (its name in the run directory, the rows of its leaner files); None and no rows for a
    model that nothing else can read, and on all processes but the first."""
    events, setup = loop.events, loop.setup
    place = loop.job.results / "export"
    params, files = loop.whole_parameters(), None
    if setup.config.export != Export():
        params = jax.device_get(params)  # the devices need the room
        params, files, more = of_leaner(loop, params, facts, samples, held_out)
        facts = {**facts, **more}
    if jax.process_index():
        return None, []
    tokenizer = {**setup.rows.tokenizer, "path": str(Path(setup.rows.model_path))}
    try:
        rows = export.write(jax.device_get(params), setup.config.model, tokenizer, facts, place, files=files,
                            marks=setup.objective.marks(), start=setup.config.objective.start,
                            named=setup.objective.answered(setup.rows.labels))
    except export.NotExportable as error:
        events.emit("warn", text=f"export: {error}")
        return None, []
    events.emit("export", path=str(loop.job.run_dir / place.name))  # where the stage brings it
    return place.name, rows


def of_leaner(loop, params, facts, samples, held_out):
    """Returns (the parameters that are exported, {file: type} of the files beside them, the facts of the model card
    that differ)."""
    setup, wanted, events = loop.setup, loop.config.export, loop.events
    params, rows, files = costs.measured(params, setup.config.model, wanted, facts["evaluation"],
                                         lambda other: loop.price(other, held_out.score),
                                         lambda text: events.emit("warn", text=text))
    for row in rows[1:]:
        events.emit("price", **{key: row[key] for key in ("file", "weights", "loss", "bits_per_char")},
                    trained=rows[0]["loss"])
    events.phase("export")
    more = {"leaner": rows}
    if wanted.prune:
        more["evaluation"] = rows[1]
        more["samples"] = samples.written(lambda: params)
    if wanted.gguf != "none":
        model = sentencepiece_model.read(Path(setup.rows.model_path).read_bytes())
        more["bytes_of_rows"] = held_out.share_of(gguf_tokenizer.bytes_of(model))
    return params, files, more
