"""Compiles a step from shapes alone, for the compiler's figure of its memory.

`python -m pipe_trainer.compiled` does this in a process of its own, for a slice of TPUs that need not be there. It
reads JSON {"config": …, "slice": "v3-8"} from standard input, and writes memory.Figure as JSON to standard output. If a
compiler crashes, or fills the memory of this machine, only that process ends.
"""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import devices, slices
from .exits import BadJob
from .memory import Figure, is_of_device, is_too_much, taken

MOST_SECONDS = 20 * 60  # for one program
LONGEST = 300           # characters of a compiler's message

# With these, libtpu asks no metadata server about this machine and claims no chip.
WITHOUT_CHIPS = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}


class NoTopology(Exception):
    """libtpu is missing, or does not know this slice."""


def figure_of(config, devices_):
    """Compiles the step of a config, whose shape is complete, in this process."""
    import jax
    import jax.numpy as jnp

    from .programs import state_of, train_program
    from .setup import arrange

    began = time.monotonic()
    setup = arrange(config, devices_)
    config, mesh = setup.config, setup.mesh
    shapes, layout = state_of(setup)
    state = jax.tree.map(lambda leaf, where: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=where), shapes,
                         layout)
    micro, rows = config.batch.micro, config.batch.rows // config.batch.micro
    batch = (jax.ShapeDtypeStruct((micro, rows, config.model.seq_len + 1), jnp.int32),
             jax.ShapeDtypeStruct((micro, rows), jnp.int32))
    others = jax.ShapeDtypeStruct((), jnp.float32), jax.ShapeDtypeStruct((mesh.devices.size,), jnp.float32)
    try:
        with jax.set_mesh(mesh):
            program = train_program(setup, layout, seed=0).lower(state, *batch, *others).compile()
    except Exception as error:  # a compiler's errors have many types
        text = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - began
        if is_too_much(text) and taken(text) is not None:
            return Figure(peak=taken(text), seconds=seconds)
        return Figure(error=" ".join(text.split())[:LONGEST], died=is_too_much(text) and not is_of_device(text),
                      seconds=seconds)
    held = program.memory_analysis()
    cost = program.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    peak = (held.argument_size_in_bytes + held.temp_size_in_bytes + held.output_size_in_bytes
            - held.alias_size_in_bytes)
    return Figure(peak, held.argument_size_in_bytes, held.temp_size_in_bytes, cost.get("flops"),
                  time.monotonic() - began)


def elsewhere(config, slice_):
    """Does the same in a child process, for a slice by its name."""
    asked = json.dumps({"config": dataclasses.asdict(config), "slice": slice_.name})
    package = str(Path(__file__).resolve().parent.parent)
    began = time.monotonic()
    try:
        child = subprocess.run([sys.executable, "-m", "pipe_trainer.compiled"], input=asked, capture_output=True,
                               text=True, errors="replace", timeout=MOST_SECONDS, check=False,
                               env={**os.environ, **WITHOUT_CHIPS, "PYTHONPATH": package})
    except subprocess.TimeoutExpired:
        return Figure(error=f"the compiler took more than {MOST_SECONDS // 60} minutes", died=True,
                      seconds=time.monotonic() - began)
    except OSError as error:  # no memory, or no process left
        return Figure(error=f"the compiler could not be started: {error.strerror}", died=True)
    return outcome(child.returncode, child.stdout, child.stderr, time.monotonic() - began)


def outcome(code, out, err, seconds):
    """Returns the figure that a child printed, or the reason why it ended without one."""
    lines = out.splitlines()
    with contextlib.suppress(ValueError, TypeError, KeyError, IndexError):
        answer = json.loads(lines[-1])
        if code == 0 and "no_topology" in answer:
            raise NoTopology(answer["no_topology"])
        if code == 0 and "mistakes" in answer:
            raise BadJob(answer["mistakes"])
        if code == 0:
            return Figure(**answer)
    last = next((line for line in reversed(err.splitlines()) if line.strip()), "")
    if code == -signal.SIGKILL:
        why = "the compiler was killed, as where the memory of this machine is full"
    elif code < 0:
        why = f"the compiler crashed with signal {-code}"
    else:
        why = f"the compiler ended with {code}: {last}"
    return Figure(error=why[:LONGEST], died=True, seconds=seconds)


def topology(slice_):
    """Returns the devices of a slice that need not be there."""
    from jax.experimental import topologies
    try:
        there = topologies.get_topology_desc(platform="tpu", topology_name=slice_.topology, **slice_.chip_options)
        return there.devices
    except Exception as error:  # no libtpu, an unknown slice, a lock: each has its own type
        raise NoTopology(f"{slice_.name}: {devices.first_line(error)}") from error


def main():
    with contextlib.suppress(OSError):  # if memory runs out, the kernel kills this process first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    from . import config
    asked = json.load(sys.stdin)
    devices.random_numbers()
    try:
        there = topology(slices.parse(asked["slice"]))
        answer = dataclasses.asdict(figure_of(config.of_dict(asked["config"]), there))
    except NoTopology as error:
        answer = {"no_topology": str(error)}
    except BadJob as error:
        answer = {"mistakes": error.mistakes}
    print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
