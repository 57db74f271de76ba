"""From a job to everything its loop needs: rows, the whole config, a mesh, the form of attention."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from . import attention, candidates, data, loss, search, sharding
from .config import Config
from .exits import BAD_DATA, BadJob, Ended


@dataclass(frozen=True)
class Arrangement:
    """A config on devices."""
    config: Config       # nothing in it is None
    mesh: object
    compute: object      # the type of activations
    attend: object
    attention: str       # its name
    lack: str | None     # why that is not the fast one
    positions: int       # of a row, whose logits exist at a time


@dataclass(frozen=True)
class Setup(Arrangement):
    job: object
    rows: object         # data.Rows of the split that is trained on
    eval_rows: object
    fit: dict            # the choice of `auto`, and the memory behind it


def prepare(job, rows=None, eval_rows=None, devices=None, tell=lambda text: None, check=None):
    """`tell`: called with a line before each program that is compiled to see whether it fits. `check`: gives an
    arrangement with a form of attention that can be relied on; before `auto` chooses, because a form has its memory."""
    rows = rows or data.Rows(job.data["dir"], job.data["train"], job.seed, job.config.data.native)
    eval_rows = eval_rows or data.Rows(job.data["dir"], job.data["validation"], job.seed, job.config.data.native)
    check_tokenizer(job.tokenizer, rows.tokenizer)
    devices = jax.devices() if devices is None else devices
    config, lack = fill_in(job.config, rows), None
    if check is not None:
        config, lack = relied_on(config, devices, check)
    config, fit = search.resolve(config, devices, job.run_dir, tell)
    arranged = arrange(config, devices)
    arranged = replace(arranged, lack=lack or arranged.lack)
    return Setup(**vars(arranged), job=job, rows=rows, eval_rows=eval_rows, fit=fit)


def relied_on(config, devices, check):
    """(the config with another form of attention where its own fails the check, why)."""
    arranged = arrange(candidates.first(config, len(devices)), devices)
    checked = check(arranged)
    if checked.attention != arranged.attention:
        config = replace(config, model=replace(config.model, attention=checked.attention))
    return config, checked.lack


def arrange(config, devices):
    """With every number that follows from the mesh; BadJob where it does not come out even."""
    mesh = sharding.make_mesh(config.mesh, devices)
    found = list(sharding.mistakes(config, mesh))
    if found:
        raise BadJob(found)
    batch = config.batch.rows // config.batch.micro
    shards = mesh.shape["data"] * mesh.shape["fsdp"]
    evaluated = config.eval.batch or batch
    config = replace(config, mesh=replace(config.mesh, data=mesh.shape["data"]),
                     eval=replace(config.eval, batch=-(-evaluated // shards) * shards))
    platform = mesh.devices.flat[0].platform
    compute = compute_type(config.model, platform)
    name, attend, lack = attention.choose(config.model, platform, mesh, compute)
    positions = loss.positions_at_a_time(config.model, max(batch, config.eval.batch) // shards)
    return Arrangement(config, mesh, compute, attend, name, lack, positions)


def compute_type(model, platform):
    if model.compute == "auto":
        return jnp.float32 if platform == "cpu" else jnp.bfloat16
    return jnp.dtype(model.compute)


def fill_in(config, rows):
    """With what the rows say of themselves, or why they do not fit."""
    model, vocab = config.model, rows.tokenizer["vocab_size"]
    found = []
    if model.vocab is not None and model.vocab < vocab:
        found.append(f"config.model.vocab: {model.vocab}, and the tokenizer of the rows has {vocab} ids; leave it out "
                     f"or make it larger")
    if model.seq_len is not None and model.seq_len != rows.seq_len:
        found.append(f"config.model.seq_len: {model.seq_len}, and the rows have {rows.seq_len}; leave it out or set "
                     f"seq_len of write_packed")
    if rows.tokenizer["eos_id"] < 0:
        found.append("data: its tokenizer has no eos, which parts documents; use the layout pipe")
    if found:
        raise BadJob(found)
    return replace(config, model=replace(model, vocab=model.vocab or vocab, seq_len=rows.seq_len,
                                         eos=rows.tokenizer["eos_id"]).complete())


def check_tokenizer(named, packed):
    for key, other in (("digest", "model_digest"), ("vocab_size", "vocab_size")):
        if named.get(key) is not None and named[key] != packed[other]:
            raise Ended(BAD_DATA, f"tokenizer: the rows were made with {other} {packed[other]}, the job names "
                                  f"{named[key]}; make the rows again with this tokenizer")

