"""Starts workers by an engine of the product, through the program `engine` of tests/support, on a host of hosts.py or on
this machine; and a program that ends as a worker can."""

import os
import subprocess
import time

# worker CASE DIRECTORY: notes each of its starts, then ends as the case says.
WORKER = """\
#!/bin/sh
start=$2/$1-${SLURM_ARRAY_TASK_ID:-0}
stopped() { trap '' TERM; echo stopped >>$start.stopped; exit 75; }
trap stopped TERM
echo "$(hostname) ${SLURM_RESTART_COUNT:-0} $$" >>$start
starts=$(wc -l <$start)
wait_for() { while [ ! -e $2/$1 ]; do sleep 0.1 & wait $!; done; }
case $1 in
  once) [ ${SLURM_ARRAY_TASK_ID:-2} = 2 ] && [ $starts = 1 ] && exit 75; exit 0 ;;
  never) exit 75 ;;
  wrong) echo 'first line' >&2; echo 'the last line' >&2; exit 65 ;;
  killed) [ $starts -ge 3 ] || kill -KILL $$; exit 0 ;;
  stops) [ $starts -ge 2 ] || wait_for go $2; exit 0 ;;
  endless) wait_for never-made $2 ;;
  lost) wait_for go $2; exit 0 ;;
esac
"""


def check(good, what):
    if not good:
        raise SystemExit(f"WRONG: {what}")


class ThisMachine:
    """In place of a host."""

    def run(self, *words, check=True, timeout=30, **variables):
        done = subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, env={**os.environ, **variables}, check=False)
        if check and done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.rstrip("\n")


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

    def release(self):
        """Releases the workers that the engine holds, and returns their number."""
        return int(self.call("release", self.job))

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


class Cases:
    """Jobs of the program WORKER, a case each. `options`: of all of them; `variables`: of their environment."""

    def __init__(self, program, kind, host, root, options=None, **variables):
        self.program, self.kind, self.host, self.root = program, kind, host, root
        self.options, self.variables, self.began = options or {}, variables, time.monotonic()
        self.worker = root / "worker"
        self.worker.write_text(WORKER)
        self.worker.chmod(0o755)
        self.notes = root / "notes"
        self.notes.mkdir()

    def start(self, case, command=None, **options):
        workers = Workers(self.program, self.kind, self.host, self.root / case, **self.variables)
        workers.start(command or [self.worker, case, self.notes], memory=100 << 20, **self.options, **options)
        return workers

    def starts(self, case, number=0):
        """(host, restarts by Slurm, process) of each start. `number`: of the task under Slurm; others have 0."""
        path = self.notes / f"{case}-{number}"
        return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []

    def stops(self, case, number=0):
        """How many workers got SIGTERM."""
        path = self.notes / f"{case}-{number}.stopped"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def go(self):
        """Lets `stops` and `lost` end."""
        (self.notes / "go").touch()

    def ends(self, case, job, state, *texts, starts):
        """Waits for the end of a job whose state tells a code; checks what its engine said."""
        job.wait(f"{case} ends", job.is_over, 60)
        check(job.state() == f"over with {state}: ended", f"{case}: {job.state()}\n{job.messages()}")
        check(len(self.starts(case)) == starts, f"{case}: {self.starts(case)}")
        for text in texts:
            check(text in job.messages(), f"{case} does not say {text!r}:\n{job.messages()}")

    def refused(self, *words):
        """What the program says when it cannot start workers, with its exit code."""
        return self.host.run("sh", "-c", '"$@" 2>&1; echo "code $?"', "sh", self.program, self.root, self.kind, "start",
                             *words, "--", "/bin/true", **self.variables)

    def say(self, what):
        print(f"[{time.monotonic() - self.began:5.1f} s] {what}", flush=True)
