"""python -m pipe_trainer --job FILE [--set a.b=c]...: CONTRACT.md, beside the plugin, describes its inputs."""

import argparse
import contextlib
import errno
import json
import os
import sys
import traceback

from . import LEFT_OUT, exits, hosts
from .exits import first_line
from .run.events import Events
from .run.signals import Stop


def main(argv=None):
    parser = argparse.ArgumentParser(prog="pipe_trainer")
    parser.add_argument("--job", required=True, metavar="FILE", help="JSON; the plugin writes it")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c",
                        help="steps=10, optimizer.lr=1e-3: on top of the job")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as error:
        return exits.BAD_JOB if error.code else exits.DONE
    stop = Stop()
    stop.install()
    events = Events.of_environment(os.environ)
    events.start_heartbeat()
    try:
        train(arguments, events, stop)
        code = exits.DONE
    except BaseException as error:  # every end of a run gets an exit code, every failure a line
        code, message = outcome(error)
        if code not in (exits.DONE, exits.RESUMABLE):
            report(code, message, events)
    events.close()
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = None  # a second flush at exit would change the exit code
    return code


def train(arguments, events, stop):
    from .run import job as jobs
    job = jobs.read(arguments.job, arguments.set)
    for name in LEFT_OUT:
        events.emit("warn", text=f"{name} of the environment is not used: the weights could depend on it")
    hosts.limit_threads(job.threads, hosts.position().worker)
    try:
        from .run import chip, devices
        if int(os.environ.get("PIPE_WORKER_COUNT") or 1) == 1:  # several workers would wait for each other
            chip.wait(os.environ, events, stop)
        devices.start(os.environ, lambda text: events.emit("warn", text=text))
        from .run.run import run
    except ImportError as error:
        raise exits.Ended(exits.ENVIRONMENT, f"{sys.prefix}: {error}; make it again: pipe trainer setup") from error
    run(job, events, stop)


def outcome(error):
    """Returns (exit code, message)."""
    if isinstance(error, exits.Ended):
        return error.code, str(error)
    kind = type(error).__name__
    if "RESOURCE_EXHAUSTED" in str(error) or isinstance(error, MemoryError):
        return exits.BAD_JOB, (f"out of memory: {first_line(error)}; raise config.batch.micro, "
                               f"set config.model.remat: full, or spread the model by config.mesh.fsdp")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f"{error.filename}: " if error.filename else ""
        return exits.TRANSIENT, f"{where}cannot be written: the disk is full; free some space and start again"
    if kind in ("JaxRuntimeError", "XlaRuntimeError") and any(
            word in str(error) for word in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "Gloo")):
        return exits.TRANSIENT, f"a worker or a device went away: {first_line(error)}"
    return exits.BUG, f"{kind}: {first_line(error)}"


def report(code, message, events):
    """Writes the failure to the log, to the events, and to the file that the plugin reads."""
    trace = traceback.format_exc()
    with contextlib.suppress(OSError):  # a log that cannot be written must not hide the error
        print(trace if code == exits.BUG else f"pipe_trainer: {message}", file=sys.stderr)
    events.emit("error", code=code, message=message)
    path = os.environ.get("PIPE_ERROR_FILE")
    if path:
        with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as out:
            out.write(json.dumps({"code": code, "message": message, "traceback": trace}) + "\n")


def leave(code):
    """Ends the process. After a failure JAX would wait for the other processes first, which wait for this one."""
    if code in (exits.DONE, exits.RESUMABLE) or int(os.environ.get("PIPE_WORKER_COUNT") or 1) == 1:
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    leave(main())
