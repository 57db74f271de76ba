"""Compiles a step from shapes alone, for the compiler's figure of its memory.

`python -m pipe_trainer.run.compiled` does this in a process of its own, for a slice of TPUs that need not be there. It
reads JSON {"config": …, "slice": "v3-8"} from standard input, and writes memory.Figure as JSON to standard output. If a
compiler crashes, or fills the memory of this machine, only that process ends. With "digest": true it compiles nothing
and writes {"digest": …}: a digest of the program that the compiler would get.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp

from ..exits import BadJob, first_line
from . import devices, slices
from .memory import Figure, is_of_device, is_too_much, taken

MOST_SECONDS = 20 * 60  # for one program
LONGEST = 300           # characters of a compiler's message

# With these, libtpu asks no metadata server about this machine and claims no chip.
WITHOUT_CHIPS = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}


class NoTopology(Exception):
    """libtpu is missing, or does not know this slice."""


def lowered(config, devices_):
    """Returns the program of the step of a config, whose shape is complete, before any compiler."""
    from ..checkpoints import ckpt
    from .arrangement import arrange
    from .programs import base_of, state_of, train_program

    setup = arrange(config, devices_)
    config, mesh = setup.config, setup.mesh
    shapes, layout = state_of(setup)
    state = ckpt.abstract(shapes, layout)
    micro, rows = config.batch.micro, config.batch.rows // config.batch.micro
    # Without loss weights: they are one byte an id, which no figure shows.
    batch = (jax.ShapeDtypeStruct((micro, rows, config.model.seq_len + 1), jnp.int32),
             jax.ShapeDtypeStruct((micro, rows), jnp.int32), None)
    others = jax.ShapeDtypeStruct((), jnp.float32), jax.ShapeDtypeStruct((mesh.devices.size,), jnp.float32)
    with jax.set_mesh(mesh):
        return train_program(setup, layout, seed=0).lower(state, batch, *others, *base_of(setup))


def digest_of(config, devices_):
    """Returns a digest of the program of a step: programs with one digest compile alike by one compiler."""
    # A kernel of a TPU names the files of its source, which lie elsewhere on another machine.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/site-packages/")
    return hashlib.sha256(lowered(config, devices_).as_text().encode()).hexdigest()[:32]


def figure_of(config, devices_):
    """Compiles the step of a config, whose shape is complete, in this process."""
    began = time.monotonic()
    try:
        program = lowered(config, devices_).compile()
    except BadJob:
        raise
    except Exception as error:  # a compiler's errors have many types
        text = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - began
        if is_too_much(text) and taken(text) is not None:
            return Figure(peak=taken(text), seconds=seconds)
        return Figure(error=" ".join(text.split())[:LONGEST], died=is_too_much(text) and not is_of_device(text),
                      seconds=seconds)
    held = program.memory_analysis()
    cost = program.cost_analysis() or {}
    peak = (held.argument_size_in_bytes + held.temp_size_in_bytes + held.output_size_in_bytes
            - held.alias_size_in_bytes)
    return Figure(peak, held.argument_size_in_bytes, held.temp_size_in_bytes, cost.get("flops"),
                  time.monotonic() - began)


def elsewhere(config, slice_):
    """Does the same in a child process, for a slice by its name."""
    return Figure(**ask(config, slice_))


def ask(config, slice_, **more):
    """Returns the child's answer; that of a child that failed is a Figure, as a dictionary."""
    asked = json.dumps({"config": dataclasses.asdict(config), "slice": slice_.name, **more})
    package = str(Path(__file__).resolve().parents[2])
    began = time.monotonic()
    try:
        child = subprocess.run([sys.executable, "-m", "pipe_trainer.run.compiled"], input=asked, capture_output=True,
                               text=True, errors="replace", timeout=MOST_SECONDS, check=False,
                               env={**os.environ, **WITHOUT_CHIPS, "PYTHONPATH": package})
    except subprocess.TimeoutExpired:
        return failed(f"the compiler took more than {MOST_SECONDS // 60} minutes", time.monotonic() - began)
    except OSError as error:  # no memory, or no process left
        return failed(f"the compiler could not be started: {error.strerror}")
    return outcome(child.returncode, child.stdout, child.stderr, time.monotonic() - began)


def outcome(code, out, err, seconds):
    """Returns the answer that a child printed, or why it ended without one."""
    lines = out.splitlines()
    with contextlib.suppress(ValueError, TypeError, KeyError, IndexError):
        answer = json.loads(lines[-1])
        if code == 0 and "no_topology" in answer:
            raise NoTopology(answer["no_topology"])
        if code == 0 and "mistakes" in answer:
            raise BadJob(answer["mistakes"])
        if code == 0 and isinstance(answer, dict):
            return answer
    last = next((line for line in reversed(err.splitlines()) if line.strip()), "")
    if code == -signal.SIGKILL:
        why = "the compiler was killed, as where the memory of this machine is full"
    elif code < 0:
        why = f"the compiler crashed with signal {-code}"
    else:
        why = f"the compiler ended with {code}: {last}"
    return failed(why[:LONGEST], seconds)


def failed(why, seconds=0.0):
    return dataclasses.asdict(Figure(error=why, died=True, seconds=seconds))


def topology(slice_):
    """Returns the devices of a slice that need not be there."""
    from jax.experimental import topologies
    try:
        there = topologies.get_topology_desc(platform="tpu", topology_name=slice_.topology, **slice_.options)
        return there.devices
    except Exception as error:  # no libtpu, an unknown slice, a lock: each has its own type
        raise NoTopology(f"{slice_.name}: {first_line(error)}") from error


def main():
    with contextlib.suppress(OSError):  # if memory runs out, the kernel kills this process first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    from .. import config
    asked = json.load(sys.stdin)
    devices.random_numbers()
    try:
        there, wanted = topology(slices.parse(asked["slice"])), config.of_dict(asked["config"])
        digest = asked.get("digest", False)
        answer = {"digest": digest_of(wanted, there)} if digest else dataclasses.asdict(figure_of(wanted, there))
    except NoTopology as error:
        answer = {"no_topology": str(error)}
    except BadJob as error:
        answer = {"mistakes": error.mistakes}
    print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
