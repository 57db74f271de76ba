"""Makes everything that the loop needs from a job: rows, the whole config, a mesh, the form of attention."""

from dataclasses import dataclass, replace

import jax

from ..data import sentencepiece_model, vocabulary
from ..data.open_rows import open_rows
from ..exits import BAD_DATA, BadJob, Ended
from ..export import gguf_tokenizer, initial
from ..model import families, sharding
from ..objectives import registry
from . import candidates, search
from .arrangement import Arrangement, arrange
from .job import every_disagreement


@dataclass(frozen=True)
class Setup(Arrangement):
    job: object
    rows: object         # rows.Rows of the training split
    eval_rows: object
    fit: dict            # the choice of `auto`, and its figures of memory
    start: object = None  # initial.Initial, whose parameters the run begins with; None: fresh ones


def prepare(job, rows=None, eval_rows=None, devices=None, tell=lambda text: None, check=None, blocks=None,
            fits=search.resolve):
    """Calls `tell` with a line before each program that is compiled to see whether it fits. `check` returns an
    arrangement with a reliable form of attention. It is called before `auto` chooses, by `fits`, because forms differ
    in memory. `blocks`: as of rows.Rows."""
    rows, eval_rows = (given or open_rows(job.data["dir"], job.data[split], job.seed, job.config.data.native, blocks)
                       for given, split in ((rows, "train"), (eval_rows, "validation")))
    check_tokenizer(job.tokenizer, rows.tokenizer)
    devices = jax.devices() if devices is None else devices
    start = initial.Initial(job.init_from) if job.init_from else None
    pieces = vocabulary.of_rows(rows) if start or registry.of(job.config).needs_pieces else ()
    config, lack = fill_in(begun(job, start, pieces), rows, pieces), None
    registry.of(config).measure(rows, eval_rows)
    if job.prompts and not families.of(config.model).causal:
        raise BadJob([f"job.prompts: a model of family {config.model.family} continues no text; leave them out"])
    refusal = config.export.gguf != "none" and gguf_tokenizer.refusal(sentencepiece_model.of_rows(rows))
    if refusal:  # llama.cpp would make other ids of text
        raise BadJob([f"config.export.gguf: {rows.model_path}: {refusal}; leave it out"])
    if check is not None:
        config, lack = relied_on(config, devices, check)
    config, fit = fits(config, devices, job.run_dir, tell)
    arranged = arrange(config, devices, rows, pieces)
    arranged = replace(arranged, lack=lack or arranged.lack)
    return Setup(**vars(arranged), job=job, rows=rows, eval_rows=eval_rows, fit=fit, start=start)


def begun(job, start, pieces):
    """Returns the config of the job, with the shape of the model that it begins with. `start`: that model, or None."""
    if start is None:
        return job.config
    start.check_tokenizer(pieces)
    config = start.adopt(job.config, job.shape_keys)
    found = every_disagreement(config)
    if found:
        raise BadJob(found)
    return config


def relied_on(config, devices, check):
    """Returns (the config, with another form of attention if its own fails the check; the reason)."""
    arranged = arrange(candidates.first(config, len(devices), sharding.slices_of(devices)), devices)
    checked = check(arranged)
    if checked.attention != arranged.attention:
        config = replace(config, model=replace(config.model, attention=checked.attention))
    return config, checked.lack


def fill_in(config, rows, pieces=()):
    """Completes the config with the facts of the rows. `pieces`: those of the tokenizer, if the objective needs them.
    Raises BadJob if they do not fit."""
    shape, vocab = config.model, rows.tokenizer["vocab_size"]
    start = next((rows.tokenizer[name] for name in ("pad_id", "eos_id") if rows.tokenizer[name] >= 0), 0)
    chosen = registry.of(config, rows, pieces)
    found = list(chosen.mistakes_of_rows(rows))
    config, needed = chosen.completed(vocab, rows.labels, start)
    if shape.vocab is not None and shape.vocab < needed:
        found.append(f"config.model.vocab: {shape.vocab}, and the tokenizer of the rows has {vocab} ids"
                     + f", and the objective needs ids up to {needed - 1}" * (needed > vocab)
                     + "; leave it out or make it larger")
    found += registry.mistakes_of_ids(config.objective, vocab)
    if shape.seq_len is not None and shape.seq_len != rows.seq_len:
        found.append(f"config.model.seq_len: {shape.seq_len}, and the rows have {rows.seq_len}; leave it out or set "
                     f"seq_len of write_packed")
    if rows.tokenizer["eos_id"] < 0:
        found.append("data: its tokenizer has no eos, which parts documents; use the layout pipe")
    begin = vocabulary.begin_of(rows.tokenizer)
    if begin is not None and shape.family != "bert":
        found.append(f"data: its ids are those of a vocab.txt, which a model of the family bert reads, and this one is "
                     f"of the family {shape.family}; take rows of a SentencePiece model")
    if found:
        raise BadJob(found)
    return replace(config, model=replace(config.model, vocab=shape.vocab or needed, seq_len=rows.seq_len,
                                         eos=rows.tokenizer["eos_id"], begin=begin).complete())


def check_tokenizer(named, packed):
    for key, other in (("digest", "model_digest"), ("vocab_size", "vocab_size")):
        if named.get(key) is not None and named[key] != packed[other]:
            raise Ended(BAD_DATA, f"tokenizer: the rows were made with {other} {packed[other]}, the job names "
                                  f"{named[key]}; make the rows again with this tokenizer")

