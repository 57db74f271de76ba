"""Configures JAX before its first array."""

import hashlib
import os
import sys
from pathlib import Path

import jax

from ..exits import BAD_JOB, ENVIRONMENT, NO_DEVICE, TRANSIENT, Ended, first_line
from ..hosts import HEARTBEAT_SECONDS, check_port
from . import chip


def start(environ, warn):
    """Joins the other processes of a run, enables the compilation cache, and finds the devices."""
    configure(environ.get("JAX_COMPILATION_CACHE_DIR") or str(cache_place()))
    jax.config.update("jax_enable_preemption_service", False)  # the service would take SIGTERM from `signals`
    workers = int(environ.get("PIPE_WORKER_COUNT") or 1)
    if workers > 1 and environ["PIPE_WORKER_INDEX"] == "0":
        check_port(environ["PIPE_COORDINATOR"])
    try:
        if workers > 1:
            # A host that is lost must not hold the others until the stage has given it up.
            limit = {"heartbeat_timeout_seconds": HEARTBEAT_SECONDS} if environ.get("PIPE_HOST_COUNT") else {}
            jax.distributed.initialize(environ["PIPE_COORDINATOR"], workers, int(environ["PIPE_WORKER_INDEX"]),
                                       **limit)
    except (RuntimeError, ValueError) as error:
        raise Ended(TRANSIENT, f"{environ.get('PIPE_COORDINATOR')}: the {workers} workers did not find each other: "
                               f"{first_line(error)}") from error
    find(environ)
    check_number(environ)
    accelerators = ("accel0", "nvidia0", "vfio/0")
    if jax.default_backend() == "cpu" and any(os.path.exists(f"/dev/{name}") for name in accelerators):
        warn("this machine has an accelerator and JAX uses none of it; `pipe trainer setup` makes an environment "
             "that does")


def check_number(environ):
    """Raises Ended if the devices count the processes of several hosts otherwise than the stage: a TPU numbers them by
    itself, and the parts of a checkpoint go by the stage's numbers."""
    if not environ.get("PIPE_HOST_COUNT"):
        return
    wanted = int(environ["PIPE_WORKER_INDEX"]), int(environ["PIPE_WORKER_COUNT"])
    found = jax.process_index(), jax.process_count()
    if found != wanted:
        raise Ended(BAD_JOB, f"the devices take this for process {found[0]} of {found[1]}, and the stage for "
                             f"{wanted[0]} of {wanted[1]}; leave the keys `hosts` and `host` out, so that both follow "
                             f"the TPU's number of the worker, TPU_WORKER_ID and MEGASCALE_NUM_SLICES")


def find(environ):
    """Makes JAX find its devices. Raises Ended if it finds none, or if another program holds them."""
    chip.check(environ)
    try:
        jax.devices()
    except AssertionError as error:  # JAX asserts that the platform's library is installed
        raise Ended(ENVIRONMENT, f"JAX_PLATFORMS={environ.get('JAX_PLATFORMS', '')}: the environment {sys.prefix} is "
                                 f"not for this platform; make it again, such as: pipe trainer setup --extra cuda, "
                                 f"or leave the variable out") from error
    except RuntimeError as error:
        why = f"JAX_PLATFORMS={environ.get('JAX_PLATFORMS', '')}: {first_line(error)}"
        raise chip.refusal(str(error)) or Ended(NO_DEVICE, why) from error


def configure(cache):
    jax.config.update("jax_compilation_cache_dir", cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    random_numbers()


def random_numbers():
    """Makes random numbers independent of the mesh."""
    jax.config.update("jax_threefry_partitionable", True)


def cache_place():
    """Returns a directory in the environment, one for each kind of processor: a program is for the machine that it is
    compiled on."""
    try:
        flags = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("flags", "Feat"))]
    except OSError:
        flags = []
    kind = hashlib.sha256("".join(flags[:1]).encode()).hexdigest()[:8]
    return Path(sys.prefix) / "jax-cache" / kind


def versions():
    import jaxlib
    import numpy
    import optax
    import orbax.checkpoint
    return {"python": sys.version.split()[0], "jax": jax.__version__, "jaxlib": jaxlib.__version__,
            "optax": optax.__version__, "orbax": orbax.checkpoint.__version__, "numpy": numpy.__version__}
