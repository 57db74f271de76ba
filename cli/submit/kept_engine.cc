#include "base/str.h"
#include "cli/submit/engine.h"
#include "cli/submit/engine_tool.h"

namespace pipeline {

namespace {

// A signal to the group ends the loops at once; workers stop as they do, and nobody starts them again.
constexpr std::string_view kLocalBody = R"sh(
keep() {
  local number=$1 starts=0 code
  while :; do
    "${worker[@]}"
    code=$?
    [ "$code" = 75 ] || [ "$code" -gt 128 ] || return "$code"
    [ "$starts" -lt "$most" ] || return "$code"
    starts=$((starts + 1))
    if [ "$code" = 75 ]; then
      echo "worker $number: ended with 75 (try again), started again, $starts of $most" >&2
      sleep 5
    else
      echo "worker $number: ended by signal $((code - 128)), started again, $starts of $most" >&2
      sleep 1
    fi
  done
}

loops=()
for ((number = 0; number < workers; number++)); do
  keep "$number" &
  loops+=($!)
done
result=0
for loop in "${loops[@]}"; do
  wait "$loop"
  code=$?
  [ "$result" != 0 ] || result=$code
done
exit "$result"
)sh";

/// A program on this machine keeps the workers.
class KeptEngine : public Engine {
 public:
  KeptEngine(EngineOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}

  Result<EngineState> State(const std::string& job, const std::stop_token& /*stop*/) override {
    return StateOfDetached(job, options_.directory, name_);
  }

  Status Cancel(const std::string& job, const std::stop_token& /*stop*/) override {
    return StopDetached(job);
  }

  std::string Messages() const override { return options_.directory; }

 protected:
  const EngineOptions options_;
  const std::string name_;  // of the program, in the names of its files
};

class LocalEngine final : public KeptEngine {
 public:
  explicit LocalEngine(EngineOptions options) : KeptEngine(std::move(options), "workers") {}

  Result<std::string> Start(const WorkerSet& set, const std::stop_token& /*stop*/) override {
    const std::string script = StrCat(options_.directory, "/workers.sh");
    RETURN_IF_ERROR(WriteEngineFile(script, LocalScript(set)));
    return StartDetached({"/bin/bash", script}, options_.directory, name_);
  }
};

constexpr const char* kFindRay =
    "import importlib.util, sys; sys.exit(None if importlib.util.find_spec('ray') else 'has no Ray')";

class RayEngine final : public KeptEngine {
 public:
  explicit RayEngine(EngineOptions options) : KeptEngine(std::move(options), "ray_workers") {}

  Result<std::string> Start(const WorkerSet& set, const std::stop_token& stop) override {
    const Result<std::string> found = CallTool({options_.python, "-c", kFindRay}, stop);
    if (found.status().code() == Code::kCancelled) return found.status();
    if (!found.ok())
      return Status(Code::kNotFound, StrCat(found.status().message(),
                                            "; name a Python that has it, in the version of "
                                            "the cluster's hosts"));
    const std::string program = StrCat(options_.directory, "/ray_workers.py");
    RETURN_IF_ERROR(WriteEngineFile(program, RayProgram()));
    return StartDetached(RayWords(set, options_, program), options_.directory, name_);
  }
};

}  // namespace

std::string LocalScript(const WorkerSet& set) {
  std::string text = StrCat("#!/bin/bash\n# Workers of ", set.name, "; `pipe submit` made this file.\n");
  text += StrCat("worker=(", ShellWords(set.argv), ")\n");
  text += StrCat("workers=", set.workers, "\nmost=", set.starts, "\n");
  return text.append(kLocalBody);
}

std::string_view RayProgram() {
  return R"py(#!/usr/bin/env python3
"""Runs the workers of a run as tasks of Ray; `pipe submit` made this file.

    ray_workers.py [--address HOST:PORT] --workers W --cores C --memory BYTES --starts N -- COMMAND...

Needs `ray` alone. A worker is started again, N times at most, if it ended with 75 (try again), if a signal ended it, or
if its process or host was lost. Exit code: 0, or the first other one with which a worker ended for good; 75: one was
started too often, or the cluster does not answer; 78: the cluster and this Python do not fit together."""

import argparse
import collections
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time

os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # equal lines of two workers are two lines
os.environ.setdefault("RAY_COLOR_PREFIX", "0")  # the messages are a file
import ray  # noqa: E402

TRY_AGAIN, WRONG = 75, 78
PAUSE, GRACE = 5, 30  # seconds until a worker that ended with 75 is started again, and from SIGTERM to SIGKILL
LINES = 20  # of the end of a worker's messages


def say(text):
    sys.stderr.write(f"ray_workers.py: {text}\n")


@ray.remote(max_retries=0)
def work(command):
    """Runs one worker to its end. Returns (host, exit code, its last lines); a code below 0 is a signal."""
    host, parent, libc = socket.gethostname(), os.getpid(), ctypes.CDLL(None)

    def end_with_parent():
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(TRY_AGAIN)

    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 start_new_session=True, preexec_fn=end_with_parent, text=True, errors="replace")
    except OSError as error:
        return host, WRONG, [f"{error}\n"]
    last = collections.deque(maxlen=LINES)

    def read():
        for line in child.stderr:
            last.append(line)
            sys.stderr.write(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while child.poll() is None:
            time.sleep(0.1)  # Ray interrupts this thread between two calls
        reader.join(1)
        return host, child.returncode, list(last)
    finally:  # cancelled
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)


class Crew:
    def __init__(self, words):
        self.words = words
        self.running = {}  # task: number of the worker
        self.due = [(0, number) for number in range(words.workers)]  # when to start it
        self.starts, self.code = collections.Counter(), 0

    def check_hosts(self):
        cores, memory = self.words.cores, self.words.memory
        hosts = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(host.get("CPU", 0) >= cores and host.get("memory", 0) >= memory for host in hosts):
            say(f"no host of the cluster has {cores} cores and {memory} bytes of memory; the workers wait for one")

    def run(self):
        while self.running or self.due:
            now = time.monotonic()
            for when, number in [one for one in self.due if one[0] <= now]:
                self.due.remove((when, number))
                task = work.options(num_cpus=self.words.cores, memory=self.words.memory or None,
                                    scheduling_strategy="SPREAD", name=f"worker {number}")
                self.running[task.remote(self.words.command)] = number
            if not self.running:
                time.sleep(0.2)
                continue
            for task in ray.wait(list(self.running), num_returns=1, timeout=1)[0]:
                self.ended(self.running.pop(task), task)
        return self.code

    def ended(self, number, task):
        try:
            host, code, last = ray.get(task)
        except ray.exceptions.RayError as error:  # the process or the host of the task
            return self.again(number, f"lost ({type(error).__name__})", 1)
        if code == TRY_AGAIN:
            self.again(number, f"ended with 75 (try again) on {host}", PAUSE)
        elif code < 0:
            self.again(number, f"ended by signal {-code} on {host}", 1)
        elif code:
            say(f"worker {number}: ended with {code} on {host}; its last lines:")
            sys.stderr.writelines(last)
            self.code = self.code or code

    def again(self, number, why, pause):
        if self.starts[number] == self.words.starts:
            self.code = self.code or TRY_AGAIN
            return say(f"worker {number}: {why}, and was started again {self.words.starts} times: it is given up")
        self.starts[number] += 1
        say(f"worker {number}: {why}, started again, {self.starts[number]} of {self.words.starts}")
        self.due.append((time.monotonic() + pause, number))

    def cancel(self):
        for task in self.running:
            ray.cancel(task)
        for task in self.running:
            ray.wait([task], timeout=GRACE)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--address", default="auto")
    for name in ("workers", "cores", "memory", "starts"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("command", nargs="+")
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        ray.init(address=words.address, logging_level="ERROR")
    except (ConnectionError, RuntimeError) as error:
        say(f"{words.address}: {' '.join(str(error).split())}")
        return TRY_AGAIN if isinstance(error, ConnectionError) else WRONG
    crew = Crew(words)
    crew.check_hosts()
    try:
        return crew.run()
    except SystemExit:
        crew.cancel()
        raise


if __name__ == "__main__":
    sys.exit(main())
)py";
}

std::vector<std::string> RayWords(const WorkerSet& set, const EngineOptions& options,
                                  const std::string& program) {
  std::vector<std::string> words = {options.python, program};
  if (!options.address.empty()) words.insert(words.end(), {"--address", options.address});
  words.insert(words.end(), {"--workers", StrCat(set.workers), "--cores", StrCat(set.cores), "--memory",
                             StrCat(set.memory), "--starts", StrCat(set.starts), "--"});
  words.insert(words.end(), set.argv.begin(), set.argv.end());
  return words;
}

std::unique_ptr<Engine> NewLocalEngine(EngineOptions options) {
  return std::make_unique<LocalEngine>(std::move(options));
}

std::unique_ptr<Engine> NewRayEngine(EngineOptions options) {
  return std::make_unique<RayEngine>(std::move(options));
}

}  // namespace pipeline
