"""Which part of every array each device holds: a mesh of three axes and one table.

data    rows of a batch; parameters are copies. The outermost axis: it alone crosses the network between slices of TPUs
fsdp    rows of a batch too; parameters are in parts, gathered where they are used; experts, which rows are sent to
tensor  heads, the width of the MLP, the vocabulary
"""

from collections import Counter

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

from ..exits import BadJob
from . import matrices

AXES = ("data", "fsdp", "tensor")
ROWS = ("data", "fsdp")

# By the last name of a leaf: of parameters and of what an optimiser keeps for each, less the axes that lack there
# (`matrices`). Others are copies.
PARAMETERS = {
    "embed": P("tensor", "fsdp"),
    "head": P("fsdp", "tensor"),
    "wq": P(None, "fsdp", "tensor", None),
    "wk": P(None, "fsdp", "tensor", None),
    "wv": P(None, "fsdp", "tensor", None),
    "wo": P(None, "tensor", None, "fsdp"),
    "w_gate": P(None, "fsdp", "tensor"),
    "w_up": P(None, "fsdp", "tensor"),
    "w_down": P(None, "tensor", "fsdp"),
    "experts_gate": P(None, "fsdp", None, "tensor"),
    "experts_up": P(None, "fsdp", None, "tensor"),
    "experts_down": P(None, "fsdp", "tensor", None),
}
ACTIVATIONS = {
    "hidden": P(ROWS, None, None),
    "dispatched": P(ROWS, None, None, None),      # places of experts, where the rows are
    "experts": P("data", "fsdp", None, None),     # and where the experts are
    "table": P("tensor", None),  # the embedding where it is looked up: rows of hidden states come out whole
}


def slice_of(device):
    """Returns the number of the device's slice. Only TPUs have slices: JAX may also number the hosts of other devices
    so, and those have no faster network inside."""
    return getattr(device, "slice_index", 0) if device.platform == "tpu" else 0


def slices_of(devices):
    """Returns the number of slices. Raises BadJob if they differ in size."""
    sizes = Counter(map(slice_of, devices))
    if len(set(sizes.values())) > 1:
        raise BadJob([f"devices: the slices have {', '.join(str(sizes[number]) for number in sorted(sizes))} devices; "
                      f"take slices of one size"])
    return len(sizes)


def make_mesh(shape, devices=None):
    devices = list(jax.devices() if devices is None else devices)
    rest, slices = shape.fsdp * shape.tensor, slices_of(devices)
    devices = np.asarray(sorted(devices, key=slice_of))  # each slice keeps its order
    data = shape.data or max(devices.size // rest, 1)
    if data * rest != devices.size:
        raise BadJob([f"config.mesh: {data} x {shape.fsdp} x {shape.tensor} are {data * rest} devices, and there "
                      f"are {devices.size}; leave mesh.data out to take them all"])
    if data % slices:
        raise BadJob([f"config.mesh: fsdp {shape.fsdp} x tensor {shape.tensor} do not divide the "
                      f"{devices.size // slices} devices of each of {slices} slices, and only data crosses the network "
                      f"between slices; take numbers whose product divides {devices.size // slices}, so that "
                      f"mesh.data is a multiple of {slices}"])
    return Mesh(devices.reshape(data, shape.fsdp, shape.tensor), AXES, axis_types=(AxisType.Auto,) * len(AXES))


def mistakes(config, mesh):
    """What of a model or batch the mesh cannot divide."""
    size, model = mesh.shape, config.model
    rows, fsdp, tensor = size["data"] * size["fsdp"], size["fsdp"], size["tensor"]
    if config.batch.rows % config.batch.micro or config.batch.rows // config.batch.micro % rows:
        yield (f"config.batch.rows: {config.batch.rows} in {config.batch.micro} micro-batches over {rows} devices "
               f"does not come out even; take a multiple of {rows * config.batch.micro}")
    for axis, parts, name in (("tensor", tensor, "kv_heads"), ("tensor", tensor, "heads"), ("tensor", tensor, "ff"),
                              ("fsdp", fsdp, "d"), ("fsdp", fsdp, "experts")):
        value = getattr(model, name)
        if value % parts:
            yield f"config.mesh.{axis}: {parts} does not divide model.{name} {value}"
    if model.padded_vocab % tensor:
        yield f"config.mesh.tensor: {tensor} does not divide the vocabulary of {model.padded_vocab}"


def of_state(mesh, state):
    """The sharding of each leaf of a state, which may be abstract."""
    def sharding(path, _):
        names = [getattr(key, "key", getattr(key, "name", None)) for key in path]
        axes = axes_of(names[-1])
        for lacking in (matrices.LACKING[name] for name in names if name in matrices.LACKING):
            axes = P(*matrices.without(lacking(names[-1], len(axes)), axes))
        return NamedSharding(mesh, axes)
    return jax.tree_util.tree_map_with_path(sharding, state)


def axes_of(name):
    """The axes of a leaf by its name. An adapter lies like its matrix; the axis of the rank is whole."""
    matrix = name.removesuffix(matrices.A).removesuffix(matrices.B) if isinstance(name, str) else name
    axes = PARAMETERS.get(matrix, P())
    if matrix == name or not axes:
        return axes
    come, go = matrices.inputs(matrix, len(axes)), matrices.outputs(matrix, len(axes))
    return P(*axes[:go[0]], None) if name.endswith(matrices.A) else P(*axes[:come[0]], None, *axes[go[0]:])


def of_batch(mesh, axis=0):
    """Rows are along `axis`."""
    return NamedSharding(mesh, P(*[None] * axis, ROWS))


def of_devices(mesh):
    """One element a device."""
    return NamedSharding(mesh, P(AXES))


def copies(mesh):
    return NamedSharding(mesh, P())


def is_on_cpu():
    """Whether the program that is being traced is for CPUs. A program for TPUs is traced on a machine with a CPU, too;
    without a mesh around, no."""
    device = jax.sharding.get_abstract_mesh().abstract_device
    return device is not None and device.device_kind == "cpu"


def constrain(x, kind):
    """Keeps an activation where the table wants it; without a mesh around, as it is."""
    if jax.sharding.get_abstract_mesh().empty:
        return x
    return jax.lax.with_sharding_constraint(x, ACTIVATIONS[kind])
