"""Starts workers by an engine of the product, through the program `engine` of tests/support, on a host of hosts.py."""

import time


class Workers:
    """Workers of one job. `words`: of the program `engine`; `variables`: of its environment."""

    def __init__(self, program, kind, host, directory, **variables):
        self.program, self.kind, self.host, self.directory, self.variables = program, kind, host, directory, variables
        self.job = None
        directory.mkdir(exist_ok=True)

    def call(self, *words, check=True):
        return self.host.run(self.program, self.directory, self.kind, *words, check=check, **self.variables)

    def start(self, command, **options):
        """Options are those of the program; a list repeats one."""
        words = []
        for name, value in options.items():
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{name}", str(one)]
        self.job = self.call("start", *words, "--", *command)
        return self.job

    def state(self):
        return self.call("state", self.job)

    def is_over(self):
        return self.state().startswith("over")

    def cancel(self):
        self.call("cancel", self.job)

    def messages(self):
        """What the workers and their engine said, of all files together."""
        return "".join(path.read_text(errors="replace") for path in sorted(self.directory.glob("*.log")))

    def wait(self, what, condition, seconds):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise SystemExit(f"not within {seconds} s: {what}\n{self.state()}\n{self.messages()[-6000:]}")
            time.sleep(0.1)
        return found
