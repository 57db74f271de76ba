"""XLA_FLAGS for processes of tests: those that CTest gave this one, and more."""

import os


def and_these(*more):
    return " ".join([*os.environ.get("XLA_FLAGS", "").split(), *more])


def with_devices(count):
    return and_these(f"--xla_force_host_platform_device_count={count}")
