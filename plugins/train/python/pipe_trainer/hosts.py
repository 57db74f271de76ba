"""The position of this process in a training on several hosts: CONTRACT.md, sections 4 and 13."""

import os
import socket
from dataclasses import dataclass

from .exits import BAD_JOB, TRANSIENT, Ended

HEARTBEAT_SECONDS = 40  # until JAX gives up a process that is silent


@dataclass(frozen=True)
class Position:
    host: int = 0
    hosts: int = 1
    worker: int = 0        # of this host
    workers: int = 1       # on each host
    attempt: int = 1
    resume: int | None = None  # step of the checkpoint that all restore; None: begin anew. For several hosts alone.

    @property
    def leads_host(self):
        """Whether this process writes the files that its host has once."""
        return self.worker == 0

    def host_of(self, process):
        """Returns the host of a process of JAX."""
        return process // self.workers


def position(environ=os.environ):
    def number(name, default):
        return int(environ.get(name) or default)
    hosts = number("PIPE_HOST_COUNT", 1)
    workers = number("PIPE_WORKER_COUNT", 1) // hosts
    worker = number("PIPE_WORKER_INDEX", 0)
    if hosts == 1:
        return Position(worker=worker, workers=workers, attempt=number("PIPE_ATTEMPT", 1))
    resume = environ.get("PIPE_RESUME", "")
    if not (resume == "none" or resume.isdecimal()):
        raise Ended(BAD_JOB, f"PIPE_RESUME: is {resume!r}, and several hosts need the step that all restore, or none")
    return Position(number("PIPE_HOST_INDEX", 0), hosts, worker % workers, workers, number("PIPE_ATTEMPT", 1),
                    None if resume == "none" else int(resume))


def limit_threads(count, worker=0):
    """Limits this process to `count` cores, and each worker to other ones; 0: no limit. XLA starts as many threads as
    it may use cores. Call it before JAX makes its first device."""
    allowed = sorted(os.sched_getaffinity(0))
    if 0 < count < len(allowed):
        os.sched_setaffinity(0, {allowed[(worker * count + number) % len(allowed)] for number in range(count)})


def check_port(coordinator):
    """Raises Ended if the first process cannot listen at the port of the coordinator. JAX would end by a signal."""
    port = int(coordinator.rpartition(":")[2])
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            probe = socket.socket(family)
        except OSError:
            continue  # this machine has none of this family
        with probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                probe.bind(("", port))
            except OSError as error:
                raise Ended(TRANSIENT, f"{coordinator}: the port of the coordinator cannot be used "
                                       f"({error.strerror}); another one is tried") from error
