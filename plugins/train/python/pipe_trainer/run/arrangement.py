"""Puts a config on devices: the mesh, the type of activations, the form of attention."""

from dataclasses import dataclass, replace

import jax.numpy as jnp

from ..config import Config
from ..exits import BadJob
from ..model import attention, sharding
from ..objectives import loss, registry


@dataclass(frozen=True)
class Arrangement:
    """A config on devices."""
    config: Config       # complete: nothing in it is None
    mesh: object
    compute: object      # the type of activations
    attend: object
    attention: str       # name of that form
    lack: str | None     # why it is not the fast form; None: it is
    positions: int       # of a row, whose logits exist at the same time
    objective: object    # objective.Objective


def arrange(config, devices, rows=None, pieces=()):
    """Completes the config with every number that follows from the mesh. `rows` and `pieces`: of Objective. Raises
    BadJob if a number does not divide evenly."""
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
    fast = jnp.float32 if platform == "cpu" else jnp.bfloat16
    compute = fast if config.model.compute == "auto" else jnp.dtype(config.model.compute)
    name, attend, lack = attention.choose(config.model, platform, mesh, compute)
    objective = registry.of(config, rows, pieces)
    positions = loss.positions_at_a_time(config.model, max(batch, config.eval.batch) // shards, objective.places)
    return Arrangement(config, mesh, compute, attend, name, lack, positions, objective)
