"""Candidates for a step: micro-batches, recomputation and mesh, with estimates of memory and cost.

The estimates only decide which candidate is compiled first; the compiler decides whether it fits. They count bytes and
operations of one device. Their constants are fitted to compiled steps (tests/trainer/fit_figures.json).
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import jax

from ..config import AUTO, Lora, MeshShape
from ..exits import BadJob
from ..model import attention, experts, families, lora, sharding
from ..model.model import shapes
from ..objectives import loss, registry
from ..optim import optim
from . import memory, throughput

REMAT = ("none", "dots", "full")
# Cost of a byte from the device's memory, and of a byte from its neighbours, in operations of the device.
OPERATIONS_PER_BYTE = 240
OPERATIONS_PER_LINK_BYTE = 1400
OPERATIONS_PER_NETWORK_BYTE = 30000  # between slices: some 3 GB/s for each device
OPERATIONS_PER_EXCHANGE = 2e9  # the wait for the first byte of an exchange
EXCHANGES = 7  # matrices of a layer, each gathered separately
MOST_TENSOR = 8

# Fitted factors on the bytes computed from shapes.
GRADIENTS = 1.1
ACCUMULATED = 2.7                             # gradients of earlier micro-batches, and copies in transfer
WAITING = {"none": 1.0, "dots": 1.15, "full": 2.8}
WORKING = 0.75
WORKING_EXPERTS = 1.5
LOGITS = 1.45
ORTHOGONALIZING = 4
# Arrays of a layer's width, and of its MLP's, that it keeps. A GELU keeps five of the MLP's in place of one, because
# its gradient is derived; the dropout of `bert` keeps its results in 32 bits.
NARROW = {"llama": 6, "lm1b": 6, "bert": 10, "t5": 6}
WIDE = {"llama": 3, "lm1b": 4, "bert": 6, "t5": 8}
SCORES = 10  # bytes of one of `with_bias`: before and behind the exponential in 32 bits, and as a share in 16
FIXED = 80 << 20


@dataclass(frozen=True)
class Candidate:
    micro: int
    remat: str
    data: int
    fsdp: int
    tensor: int

    def of(self, config):
        """Returns the config with these values."""
        return replace(config, model=replace(config.model, remat=self.remat),
                       batch=replace(config.batch, micro=self.micro),
                       mesh=MeshShape(self.data, self.fsdp, self.tensor))

    def shown(self):
        return {"batch.micro": self.micro, "model.remat": self.remat,
                "mesh": {"data": self.data, "fsdp": self.fsdp, "tensor": self.tensor}}

    def __str__(self):
        mesh = ", ".join(f"{axis} {getattr(self, axis)}" for axis in sharding.AXES if getattr(self, axis) > 1)
        return f"micro {self.micro}, remat {self.remat}, mesh {mesh or 'data 1'}"


def divisors(number):
    return [size for size in range(1, number + 1) if number % size == 0]


def meshes(config, count, slices=1):
    """Returns the meshes (data, fsdp, tensor) of `count` devices that keep the axes given as numbers. `data` is a
    multiple of `slices`. The meshes with the fewest parts come first. Raises BadJob if there is none."""
    free = {name for section, name in config.auto if section == "mesh"}
    model, given = config.model, config.mesh
    found = []
    for tensor in divisors(count) if "tensor" in free else (given.tensor,):
        for fsdp in divisors(count // tensor) if "fsdp" in free else (given.fsdp,):
            data = count // (tensor * fsdp)
            if data * tensor * fsdp != count or ("data" not in free and given.data not in (None, data)):
                continue
            if data % slices:
                continue
            found.append((data, fsdp, tensor))
    if not found:
        fixed = ", ".join(f"mesh.{axis} {getattr(given, axis)}" for axis in sharding.AXES
                          if axis not in free and getattr(given, axis) is not None)
        bound = f", and mesh.data is a multiple of {slices}, the number of slices" * (slices > 1)
        raise BadJob([f"config.mesh: {fixed} beside {AUTO}, and there {'is' if count == 1 else 'are'} {count} "
                      f"device{'s' * (count > 1)}{bound}; take numbers whose product divides {count // slices}, or "
                      f"leave mesh to {AUTO}"])
    even = [mesh for mesh in found if mesh[2] <= MOST_TENSOR or "tensor" not in free]
    whole = [mesh for mesh in even if all(size % parts == 0 for size, parts in (
        (model.d, mesh[1]), (model.experts, mesh[1]), (model.heads, mesh[2]), (model.kv_heads, mesh[2]),
        (model.ff, mesh[2]), (model.padded_vocab, mesh[2])))]
    return sorted(whole or found, key=lambda mesh: (mesh[2], mesh[1]))


def unbounded(config, count, slices=1):
    """Returns the config if no memory bounds it: keys that are left to `auto` have their first value."""
    free = {name for section, name in config.auto if section == "mesh"}
    if not free:
        return config
    return replace(config, mesh=MeshShape(*meshes(config, count, slices)[0]))


def first(config, count, slices=1):
    """Returns the config with the first even candidate, whatever memory it takes."""
    found = every(config, count, slices) if config.auto else []
    return found[0].of(config) if found else unbounded(config, count, slices)


def every(config, count, slices=1):
    """Returns all candidates that divide the rows of a step evenly; empty if there is none."""
    rows, found = config.batch.rows, []
    micros = divisors(rows) if ("batch", "micro") in config.auto else (config.batch.micro,)
    remats = REMAT if ("model", "remat") in config.auto else (config.model.remat,)
    for data, fsdp, tensor in meshes(config, count, slices):
        for micro in micros:
            if rows % micro == 0 and rows // micro % (data * fsdp) == 0:
                found += [Candidate(micro, remat, data, fsdp, tensor) for remat in remats]
    return found


def ladder(config, count, slices=1):
    """Returns candidates from the fastest to the one with the least memory, by estimate; each takes less memory than
    all before it. Appends the candidate with the most parts if it is not among them."""
    rungs, all_ = [], every(config, count, slices)
    for candidate in sorted(all_, key=lambda one: (cost(config, one, slices), bytes_of(config, one))):
        if not rungs or bytes_of(config, candidate) < bytes_of(config, rungs[-1]):
            rungs.append(candidate)
    # An estimate alone refuses nothing: the compiler tries the one with the most parts.
    parted = max(all_, key=lambda one: (one.fsdp * one.tensor, one.micro, REMAT.index(one.remat)), default=None)
    return rungs if parted is None or parted in rungs else [*rungs, parted]


@lru_cache(maxsize=64)
def parameters(model):
    """Returns the numbers of parameters of (a layer without experts, the embedding, a head that is not the
    embedding)."""
    width = model.head_dim * (model.heads * 2 + model.kv_heads * 2)
    layer = model.d * width + model.d * model.ff * families.mlp(model) + 2 * model.d
    table = model.padded_vocab * model.d
    if families.of(model).decoder:  # a layer of each stack: the decoder's has two attentions
        layer = 2 * layer + further(model)
    if model.family == "bert":
        return layer, table, model.d * (model.d + model.seq_len)  # its own head, and positions
    return layer, table, 0 if model.tied else table


def further(model):
    """Returns the parameters of a decoder's layer that an encoder's lacks: attention to the encoder, a norm."""
    return model.d * (model.head_dim * 2 * (model.heads + model.kv_heads) + 1)


def count(model):
    layer, table, head = parameters(model)
    return layer * model.layers + table + head + of_experts(model)


def of_experts(model):
    return (1 + families.of(model).decoder) * experts.groups(model) * experts.of_layer(model)


@lru_cache(maxsize=64)
def learned(model, adapters=Lora()):
    """Returns the number of parameters that are learned: all, or those of adapters. `adapters`: config.Lora."""
    if not adapters.rank:
        return count(model)
    return sum(leaf.size for leaf in jax.tree.leaves(learned_shapes(model, adapters)))


def learned_shapes(model, adapters):
    if not adapters.rank:
        return shapes(model)
    whole = families.learned_whole(model)
    return jax.eval_shape(lambda: lora.fresh(adapters, shapes(model), jax.random.key(0), whole))


@lru_cache(maxsize=64)
def kept_by(optimizer, model, adapters=Lora()):
    """Returns the bytes that an optimiser keeps for all parameters that are learned."""
    if optimizer.name == "adamw":  # without the last norm, as `count`: the constants were fitted to that
        return 8 * learned(model, adapters)
    state = jax.eval_shape(lambda: optim.make(optimizer, model.family).init(learned_shapes(model, adapters)))
    return sum(4 * leaf.size for leaf in jax.tree.leaves(state))


def orthogonalizing(optimizer, model, adapters=Lora()):
    """Returns the bytes that Muon needs for the largest matrix of all layers while it makes it orthogonal; those of
    adapters are small."""
    if optimizer.name != "muon" or adapters.rank:
        return 0
    largest = model.layers * model.d * max(model.ff, model.heads * model.head_dim)
    return ORTHOGONALIZING * 4 * max(largest, experts.groups(model) * model.experts * model.d * model.ff)


def kept(model, remat, tensor):
    """Returns the bytes that a layer keeps for its gradient, for each token, in 16 bits."""
    d, ff = model.d, model.ff / tensor
    q, kv = model.heads * model.head_dim / tensor, 2 * model.kv_heads * model.head_dim / tensor
    if remat == "full":
        return 2 * d
    if remat == "dots":
        return 2 * (3 * d + q + kv + 2 * ff)
    return 2 * (NARROW[model.family] * d + 3 * q + 1.5 * kv + WIDE[model.family] * ff)


def at_work(config, tensor):
    """Returns the bytes that a layer has while it is computed, for each token that is read, with a turn of scores."""
    model, found = config.model, kept(config.model, "none", tensor)
    if families.of(model).decoder:
        queries = model.seq_len, registry.of(config).places
        found += SCORES * model.heads / tensor * max(map(attention.at_once, queries))
    return found


def kept_scores(model, tensor, slots):
    """Returns the bytes of scores that a layer of each stack keeps, for each token that is read. `slots` as in
    `kept_across`. Queries that take turns keep none."""
    reading, decoding = (attention.at_once(queries) == queries
                         for queries in (model.seq_len, round(slots * model.seq_len)))
    return SCORES * model.heads / tensor * model.seq_len * (reading + decoding * (slots + slots ** 2))


def kept_by_experts(model, remat, tensor):
    """Returns the bytes that a layer with experts keeps more, as `kept`. An einsum over experts is no product to
    `dots`."""
    if not model.experts or remat != "none":
        return 0
    d, places, ff = model.d, min(model.expert_capacity, model.experts), model.ff / tensor
    # The router's input is in 32 bits.
    return 4 * d + 2 * ((3 + model.expert_top) * d + places * (3 * d + WIDE[model.family] * ff))


def kept_across(model, remat, tensor, slots):
    """Returns the bytes that a decoder's layer keeps more than an encoder's, for each token that is read. `slots`: of
    the decoder, for each of those. The keys and values are of all that is read."""
    d = model.d
    q, kv = model.heads * model.head_dim / tensor, 2 * model.kv_heads * model.head_dim / tensor
    if remat == "full":
        return 0
    if remat == "dots":
        return 2 * (kv + slots * (d + q))
    return 2 * (1.5 * kv + slots * 3 * (d + q))


def kept_by_layers(config, remat, tensor):
    """Returns the bytes that all layers keep, as `kept`, for each token of a row."""
    model, slots = config.model, slots_of(config)
    found = (1 + slots) * (model.layers * kept(model, remat, tensor)
                           + experts.groups(model) * kept_by_experts(model, remat, tensor))
    if not slots:
        return found
    scores = kept_scores(model, tensor, slots) if remat == "none" else 0
    return found + model.layers * (kept_across(model, remat, tensor, slots) + scores)


@lru_cache(maxsize=4096)
def bytes_of(config, candidate):
    """Estimates the peak memory of a device in a step."""
    model, shards = config.model, candidate.data * candidate.fsdp
    rows = config.batch.rows // candidate.micro // shards
    tokens, parts = rows * model.seq_len, candidate.fsdp * candidate.tensor
    wide = 1 if model.compute != "float32" else 2
    trained = learned(model, config.lora)
    whole = 4 * count(model) + kept_by(config.optimizer, model, config.lora)
    whole += 4 * trained * (bool(config.regularizers.ema) + bool(config.lora.rank))
    state = whole / parts
    gradients = 4 * trained / parts * (GRADIENTS + (ACCUMULATED if candidate.micro > 1 else 0))
    waiting = kept_by_layers(config, candidate.remat, candidate.tensor) * WAITING[candidate.remat] * wide * tokens
    working = WORKING * at_work(config, candidate.tensor) * wide * tokens
    working += WORKING_EXPERTS * kept_by_experts(model, "none", candidate.tensor) * wide * tokens
    positions = loss.positions_at_a_time(model, max(rows, 1), registry.of(config).places)
    logits = LOGITS * 4 * rows * positions * model.scored / candidate.tensor
    updating = orthogonalizing(config.optimizer, model, config.lora) / parts
    return int(state + gradients + max(waiting + working + logits, updating) + FIXED)


def slots_of(config):
    """Returns the slots of a decoder for each token that is read; 0 without a decoder."""
    return registry.of(config).places / config.model.seq_len if families.of(config.model).decoder else 0


def operations(config):
    """Returns (operations of a step, operations of the scores among them)."""
    matrices, scores = (part * config.batch.rows * config.model.seq_len for part in throughput.operations(config))
    return matrices + scores, scores


def forward(config):
    """Returns the operations of a step without its gradients."""
    whole, scores = operations(config)
    return (whole - scores) * 2 / throughput.of_matrices(config) + scores / 3


@lru_cache(maxsize=4096)
def cost(config, candidate, slices=1):
    """Estimates a step on a device, in operations: those of the model, the recomputed ones, and the equivalent of
    moving bytes."""
    model, devices = config.model, candidate.data * candidate.fsdp * candidate.tensor
    layer, table, head = parameters(model)
    whole, scores = operations(config)
    takes_turns = families.of(model).decoder and attention.at_once(model.seq_len) < model.seq_len
    turns = scores / 3 if takes_turns else 0.0  # their scores are computed again in any case
    again = {"none": turns, "dots": 0.04 * whole + scores / 3, "full": forward(config) + turns}[candidate.remat]
    passes = 4 if candidate.remat == "full" else 3
    trained = learned(model, config.lora)
    held = trained / (candidate.fsdp * candidate.tensor)
    read = 2 * passes * count(model) / candidate.tensor + 16 * held
    tokens = config.batch.rows * model.seq_len / candidate.micro / (candidate.data * candidate.fsdp)
    read += 2 * passes * model.layers * at_work(config, candidate.tensor) * tokens / 2
    read += passes * experts.groups(model) * kept_by_experts(model, "none", candidate.tensor) * tokens
    around = 8 * held * (candidate.data - 1) / candidate.data
    gathered = (2 * (passes - 1) * (count(model) - of_experts(model)) + 4 * trained) / candidate.tensor
    # There and back, in 16 bits: positions go to experts, whose parameters stay.
    sent = 4 * passes * experts.groups(model) * min(model.expert_capacity, model.experts) * tokens * model.d
    around += (gathered + sent * (1 + slots_of(config))) * (candidate.fsdp - 1) / candidate.fsdp
    around += 2 * passes * model.layers * tokens * model.d * 2 * (candidate.tensor - 1) / candidate.tensor * 2
    calls = model.layers * passes * (EXCHANGES * (candidate.fsdp > 1) + 2 * (candidate.tensor > 1))
    # The devices of a slice share the bytes that cross the network.
    across = 8 * trained * (slices - 1) / devices
    return ((whole + again) / devices + candidate.micro * (read * OPERATIONS_PER_BYTE
            + around * OPERATIONS_PER_LINK_BYTE + across * OPERATIONS_PER_NETWORK_BYTE
            + calls * OPERATIONS_PER_EXCHANGE))


def holds_whole(setup):
    """Returns whether a device has room for all parameters, which samples need, beside its part of the state. All
    processes call it together."""
    config = setup.config
    usable, size = memory.of_each(setup.mesh.devices.flat), 4 * count(config.model)
    parts = setup.mesh.shape["fsdp"] * setup.mesh.shape["tensor"]
    state = size + kept_by(config.optimizer, config.model, config.lora)
    shared = setup.mesh.devices.size == 1 and not config.lora.rank  # merged adapters make other arrays
    return usable is None or shared or size + state / parts <= usable * memory.SHARE


def smallest(config, all_slices):
    """Returns the first slice that some candidate fits by estimate, or None. Ignores the numbers of the mesh: they are
    for the devices that did not suffice."""
    open_mesh = replace(config, auto=tuple({*config.auto, *(("mesh", axis) for axis in sharding.AXES)}))
    for one in all_slices:
        rungs = ladder(open_mesh, one.devices)
        if rungs and min(bytes_of(open_mesh, rung) for rung in rungs) <= one.bytes * memory.SHARE:
            return one
    return None


def seconds(config, candidate, peak_tflops, share):
    """Returns the time of a step: the model's operations and the recomputed ones, at a share of a published peak."""
    whole, scores = operations(config)
    again = {"none": 0.0, "dots": scores / 3, "full": forward(config)}[candidate.remat]
    devices = candidate.data * candidate.fsdp * candidate.tensor
    return (whole + again) / devices / (peak_tflops * 1e12 * share)
