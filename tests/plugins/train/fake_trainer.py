#!/usr/bin/env python3
"""A trainer that keeps the contract, or breaks it as told by the job's `config`: no model, no JAX.

    python -m pipe_trainer --job FILE      (the command of the stage)

`config: {fake: [BEHAVIOUR, ...]}`: attempt N follows entry N; later attempts follow the last one. A behaviour is an
object:

    steps: N       commits a checkpoint at each `checkpoint_every` up to N, then does `then`
    then: WHAT     end (default) | hang_at_start | hang | mute | exit | signal | bad_result | no_result | ignore_term
    phase: NAME    of a hang
    code, signal   of an exit, a signal
    beats: [[SECONDS, STEP], ...]   heartbeats of a phase of steps that begins at 0 s, before the first step
    noise: [WHAT]  stdout | bad_lines | flood | half_line | long_line | grandchild, before anything else
    worker: K      only this worker behaves so; the others train on until they are stopped

With several hosts each commits its part of a checkpoint, and asks for that part where it is not on its disk.
`config: {pace: SECONDS}`: the time of a step, and of its compilation unless `compile: SECONDS` is there. `config: {meet:
DIRECTORY}`: they wait for each other there in each step, and stop in the same one.

`config: {weights: BYTES}`: size of a checkpoint; its bytes depend only on its step.

`config: {decay: N}`: keeps the checkpoint of step N as `before_decay`, and goes back to it where more steps are asked for
than the newest was for (a file of it says so). With `keep_best` of the job the loss of an evaluation is that of
`config: {losses: {STEP: LOSS}}`, 9 where there is none; with `early_stop` it ends when `patience` evaluations are no better.

`config: {scores: {NAME: NUMBER}}`: further members of its evaluations.
`config: {prices: {FILE: BITS_PER_CHAR}}`: the prices of leaner files of its export; null: of an objective without bits.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Trainer:
    def __init__(self, job):
        self.job = job
        self.run = job["run_dir"]
        self.results = job.get("results", self.run)
        self.fd = int(os.environ["PIPE_EVENTS_FD"])
        self.attempt = int(os.environ["PIPE_ATTEMPT"])
        self.worker = int(os.environ["PIPE_WORKER_INDEX"])
        self.host, self.hosts = (int(os.environ.get(f"PIPE_HOST_{name}") or default)
                                 for name, default in (("INDEX", 0), ("COUNT", 1)))
        self.seq = 0
        self.step = 0
        self.stopping = False
        self.ended, self.lowest, self.since = False, None, 0
        self.weights = job["config"].get("weights", 100)
        behaviours = job["config"].get("fake", [{}])
        self.does = behaviours[min(self.attempt, len(behaviours)) - 1]
        if self.does.get("worker", self.worker) != self.worker:
            self.does = {"steps": 10**9}

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def say(self, kind, **members):
        self.seq += 1
        event = {"v": 1, "kind": kind, "seq": self.seq, "t": time.time(), "m": time.monotonic(),
                 "attempt": self.attempt, "worker": self.worker, "step": self.step, **members}
        self.write(json.dumps(event, allow_nan=False).encode() + b"\n")

    def phase(self, name):
        self.say("phase", name=name)

    def noise(self, what):
        if what == "stdout":
            for number in range(200_000):
                print(f"line {number} " + "x" * 100)
            sys.stdout.flush()
        elif what == "bad_lines":
            self.write(b"not json\n{\n[]\n{\"v\":1}\n{\"v\":2,\"kind\":\"step\"}\n\0\0\0\n"
                       b"{\"v\":1,\"kind\":\"Bad Kind\"}\n\xff\xfe\n{\"v\":1,\"kind\":\"step\",\"loss\":NaN}\n\n")
        elif what == "flood":
            for _ in range(20_000):
                self.say("warn" if self.seq == 0 else "hb")
        elif what == "half_line":
            self.write(b'{"v": 1, "kind": "st')
        elif what == "long_line":
            self.write(b"x" * (3 << 20) + b"\n")
        elif what == "child":
            with open(os.path.join(self.run, "child"), "w") as file:
                file.write(str(subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL).pid))
        elif what == "grandchild":
            # It leaves the group and keeps both ends open, as a daemon of a library might.
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], pass_fds=[self.fd],
                             start_new_session=True)

    def marker(self, step, change):
        """Writes the marker of a checkpoint with changed pins. pin() removes a new pin from all other checkpoints."""
        directory = os.path.join(self.run, "checkpoints")
        names = sorted(os.path.relpath(os.path.join(root, name), f"{directory}/{step}")
                       for root, _, files in os.walk(f"{directory}/{step}") for name in files)
        files = []
        for name in names:
            data = open(f"{directory}/{step}/{name}", "rb").read()
            files.append({"name": name, "bytes": len(data), "crc32c": f"{crc32c(data):08x}"})
        said = self.pins(step)
        change(said)
        with open(f"{directory}/{step}.json.part", "w") as file:
            part = {"attempt": self.attempt, "host": self.host, "hosts": self.hosts} if self.hosts > 1 else {}
            json.dump({"pipe_checkpoint": 2 if part else 1, "step": step, "files": files, **part, **said}, file)
        os.rename(f"{directory}/{step}.json.part", f"{directory}/{step}.json")

    def pins(self, step):
        try:
            with open(os.path.join(self.run, "checkpoints", f"{step}.json")) as file:
                return {key: value for key, value in json.load(file).items() if key in ("pinned", "best")}
        except OSError:
            return {}

    def pin(self, name, **members):
        def add(said):
            said["pinned"] = sorted({*said.get("pinned", []), name})
            said.update(members)

        def drop(said):
            said["pinned"] = [other for other in said["pinned"] if other != name]
            if not said["pinned"]:
                said.clear()

        self.marker(self.step, add)
        for step in self.steps():
            if step != self.step and name in self.pins(step).get("pinned", []):
                self.marker(step, drop)
        self.say("ckpt_pin", path=f"checkpoints/{self.step}", pinned=name)
        self.crash("ckpt_pin")

    def crash(self, where):
        """`then: crash`: SIGKILL for the trainer after this event."""
        if self.does.get("then") == "crash" and self.does["at"] == where:
            os.kill(os.getpid(), signal.SIGKILL)

    def prune(self):
        steps = self.steps()
        for old in steps[self.job.get("keep_checkpoints", 1):]:
            if not self.pins(old).get("pinned"):
                self.remove(old)

    def remove(self, step):
        shutil.rmtree(os.path.join(self.run, "checkpoints", str(step)))
        if os.path.exists(os.path.join(self.run, "checkpoints", f"{step}.json")):
            os.remove(os.path.join(self.run, "checkpoints", f"{step}.json"))

    def go_back(self):
        """Goes back before the decay if more steps are asked for than the newest checkpoint was made for."""
        newest, decay = self.steps()[0], self.job["config"].get("decay")
        if decay is None or newest <= decay:
            return
        with open(os.path.join(self.run, "checkpoints", str(newest), "horizon")) as file:
            if int(file.read()) >= self.job["steps"]:
                return
        if decay not in self.steps():
            self.end(64, "there is no checkpoint before the decay")
        self.step = decay
        for step in self.steps():
            if step > decay:
                self.remove(step)
        self.say("extend", **{"from": newest, "to": decay})
        self.crash("extend")

    def checkpoint(self):
        self.say("ckpt_begin", path=f"checkpoints/{self.step}")
        if self.hosts > 1:  # each host has a part
            path = os.path.join(self.run, "checkpoints", str(self.step))
            shutil.rmtree(path, ignore_errors=True)
            for name in ("facts/metadata", *(f"state/d/{self.host}.{chunk}" for chunk in range(60)))[self.host > 0:]:
                os.makedirs(os.path.dirname(f"{path}/{name}"), exist_ok=True)
                with open(f"{path}/{name}", "w") as file:
                    file.write(f"{name} of step {self.step}")
            self.marker(self.step, lambda said: None)
            self.prune()
        elif self.worker == 0:  # it writes for all workers
            path = os.path.join(self.run, "checkpoints", str(self.step))
            shutil.rmtree(path, ignore_errors=True)
            shutil.rmtree(path + ".part", ignore_errors=True)
            os.makedirs(path + ".part/state/d")
            horizon = [("horizon", str(self.job["steps"]).encode())] if "decay" in self.job["config"] else []
            for name, data in (("facts", str(self.step).encode()), ("state/empty", b""),
                               ("state/d/weights", random.Random(self.step).randbytes(self.weights)), *horizon):
                with open(f"{path}.part/{name}", "wb") as file:
                    file.write(data)
            os.rename(path + ".part", path)
            if self.step == self.job["config"].get("decay"):
                self.marker(self.step, lambda said: said.update(pinned=["before_decay"]))
            self.prune()
        self.say("ckpt_commit", path=f"checkpoints/{self.step}")
        self.crash("ckpt_commit")

    def steps(self):
        """Steps with a checkpoint, newest first."""
        directory = os.path.join(self.run, "checkpoints")
        names = os.listdir(directory) if os.path.isdir(directory) else []
        return sorted((int(name) for name in names if name.isdecimal()), reverse=True)

    def restore(self):
        newest = self.steps()[0]
        directory = os.path.join(self.run, "checkpoints", str(newest))
        weights = open(f"{directory}/state/d/weights", "rb").read()
        if open(f"{directory}/facts").read() != str(newest) or weights != random.Random(newest).randbytes(len(weights)):
            self.end(65, f"{directory}: is not what was saved there")
        self.step = newest
        self.say("restore", path=f"checkpoints/{newest}")

    def restore_part(self):
        wanted = os.environ["PIPE_RESUME"]
        for step in self.steps():
            if wanted == "none" or step > int(wanted):
                self.remove(step)
        if wanted == "none":
            return
        path = os.path.join(self.run, "checkpoints", wanted)
        names = [f"state/d/{self.host}.{chunk}" for chunk in range(60)]
        if not os.path.exists(f"{path}/{names[-1]}"):
            self.phase("fetch")
            self.say("need", id=f"{self.attempt}-{self.worker}-1", step=int(wanted), files=names)
            answer = os.path.join(self.run, "answers", f"{self.attempt}-{self.worker}-1.json")
            while not os.path.exists(answer):
                self.sleep(0.02)
            with open(answer) as file:
                said = json.load(file)
            if "error" in said:
                self.end(said["code"], said["error"])
        for name in names:
            if open(f"{path}/{name}").read() != f"{name} of step {wanted}":
                self.end(65, f"{path}/{name}: is not what was saved there")
        self.step = int(wanted)
        self.say("restore", path=f"checkpoints/{wanted}")

    def meet(self):
        """Waits until every host has come to this step, as collectives do. Returns whether one of several hosts was asked
        to stop."""
        place = self.job["config"].get("meet")
        if place is None or self.hosts == 1:
            return self.stopping and self.hosts > 1

        def path(host):
            return os.path.join(place, f"{os.environ['PIPE_COORDINATOR']}-{host}")  # the same on all, new in an attempt
        with open(path(self.host) + ".part", "w") as file:
            file.write(f"{self.step} {int(self.stopping)}")
        os.rename(path(self.host) + ".part", path(self.host))
        stops = self.stopping
        for host in range(self.hosts):
            while True:
                try:
                    with open(path(host)) as file:
                        step, stopping = map(int, file.read().split())
                except FileNotFoundError:
                    step, stopping = -1, 0
                if step >= self.step:
                    break
                self.say("hb")
                time.sleep(0.02)
            stops = stops or stopping and step == self.step
        return stops

    def stop(self):
        """The reaction to SIGTERM."""
        self.say("preempt")
        if self.step not in self.steps()[:1]:
            self.checkpoint()
        self.end(42)

    def end(self, code, message=""):
        if code:
            with open(os.environ["PIPE_ERROR_FILE"], "w") as file:
                json.dump({"code": code, "message": message, "traceback": ""}, file)
        sys.exit(code)

    def sleep(self, seconds):
        """Sleeps with heartbeats until it is stopped."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.stopping:
            self.say("hb")
            time.sleep(0.02)
        if self.stopping and self.hosts == 1:
            self.stop()

    def train(self):
        for what in self.does.get("noise", []):
            self.noise(what)
        self.say("hello", versions={}, devices=[], backend="fake",
                 config={"objective": {"name": "causal"}, **self.job["config"]})
        if self.hosts > 1:
            self.restore_part()
        elif self.steps():
            self.go_back()
            self.restore()
        total = self.job["steps"]
        self.say("plan", params=1234567, flops_per_token=1.0, tokens_per_step=2048, steps=total, epochs=1.25)
        for name, bits in (("uniform", 11.9), ("unigram", 8.5), ("bigram_kn", 5.25)):
            self.say("baseline", name=name, nats_per_token=bits, bits_per_byte=bits / 3, bits_per_char=bits)
        pace = self.job["config"].get("pace", 0)
        if pace:
            self.phase("compile")
            self.sleep(self.job["config"].get("compile", pace))
        for at, step in [(0, 0), *self.does["beats"]] if "beats" in self.does else []:
            self.say(*(("hb",) if at else ("phase",)), m=float(at), step=step, name="step")
        self.phase("step")
        until = min(total, self.step + self.does["steps"] if "steps" in self.does else total)
        while self.step < until:
            if self.hosts == 1 and self.stopping:
                self.stop()
            self.step += 1
            stops = self.meet()
            if self.step % self.job["log_every"] == 0:
                self.say("step", loss=8 / (1 + self.step / 10), tokens=2048, tokens_per_s=51234.0, grad_norm=1.0,
                         lr=1e-3, data_wait=0.001, mfu=None, skipped=0)
            if stops and self.step < total:
                self.stop()
            evaluated = self.job["eval_every"] and self.step % self.job["eval_every"] == 0
            if evaluated or self.step == total:
                self.phase("eval")
                if self.worker == 0:
                    with open(os.path.join(self.run, "best.json"), "w") as file:
                        json.dump({"step": self.step, "loss": 3.0}, file)
                self.say("eval", split="validation", loss=3.0, ppl=20.0, bits_per_byte=1.5, bits_per_char=4.5,
                         targets=999,
                         **self.job["config"].get("scores", {}))
                for prompt in self.job["prompts"]:
                    self.say("sample", prompt=prompt, text=f"{prompt}は猫である<b>")
                self.phase("step")
            if self.step % self.job["checkpoint_every"] == 0 or self.step in (total, self.job["config"].get("decay")):
                self.phase("checkpoint")
                self.checkpoint()
                self.phase("step")
            if evaluated or self.step == total:
                self.evaluate()
            if self.ended:
                break
            if pace or self.does.get("steps", 0) >= 10**9:
                self.sleep(pace or 0.05)
        getattr(self, "then_" + self.does.get("then", "end"))()

    def evaluate(self):
        """Reports an evaluation after the checkpoint of its step, if the step has one."""
        loss = self.job["config"].get("losses", {}).get(str(self.step), 9)
        kept = [self.pins(step)["best"]["loss"] for step in self.steps() if "best" in self.pins(step).get("pinned", [])]
        self.since = 0 if self.lowest is None or loss < self.lowest else self.since + 1
        self.lowest = loss if self.lowest is None else min(loss, self.lowest)
        if self.job.get("keep_best") and loss < min(kept, default=10):
            if self.step not in self.steps():
                self.checkpoint()
            self.pin("best", best={"step": self.step, "loss": loss})
            self.prune()
        rule = self.job.get("early_stop")
        self.ended = bool(rule) and self.since >= rule["patience"]
        if self.ended and self.step not in self.steps():
            self.checkpoint()
        if self.ended:
            self.crash("early_stop")

    def then_crash(self):
        self.then_end()

    def then_end(self):
        self.phase("export")
        if self.worker > 0:
            return
        with open(os.path.join(self.results, "config.json"), "w") as file:
            json.dump({"resolved": True, **self.job["config"]}, file)
        for name, bits in self.job["config"].get("prices", {}).items():
            self.say("price", file=name, weights="in 8 bits", loss=3.0625, bits_per_char=bits, trained=3.0)
        exported = None
        if self.job["export"]:
            exported = "export"
            os.makedirs(os.path.join(self.results, "export"), exist_ok=True)
            with open(os.path.join(self.results, "export", "model.safetensors"), "w") as file:
                best = [step for step in self.steps() if "best" in self.pins(step).get("pinned", [])]
                file.write(f"weights at {best[0] if best else self.step}")
            for name in ("pipe.json", "tokenizer.model"):
                with open(os.path.join(self.results, "export", name), "w") as file:
                    file.write("{}")
        self.result(exported)
        self.say("bye", summary={"goodput": {"step": 0.9, "eval": 0.06, "init": 0.04}})

    def result(self, exported):
        path = os.path.join(self.results, "result.json")
        with open(path + ".part", "w") as file:
            json.dump({"steps": self.step, "final": {"bits_per_char": 4.5, "loss": 3.0}, "best": {}, "baselines": {},
                       "checkpoint": f"checkpoints/{self.step}", "export": exported, "goodput": {"step": 0.9},
                       "tokens": 2048 * self.step,
                       **({"stopped_early": {"step": self.step, "reason": "it got no better"}} if self.ended else {})},
                      file)
        os.rename(path + ".part", path)

    def then_hang(self):
        """Sends heartbeats and makes no progress."""
        if "phase" in self.does:
            self.phase(self.does["phase"])
        self.sleep(60)

    def then_mute(self):
        """Sends nothing more, and ignores signals."""
        for number in (signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(60)

    def then_ignore_term(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.say("warn", text="not listening")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.say("hb")
            time.sleep(0.02)

    def then_exit(self):
        print("the last words of the trainer")
        self.end(self.does["code"], self.does.get("message", ""))

    def then_signal(self):
        os.kill(os.getpid(), self.does["signal"])
        time.sleep(60)

    def then_bad_result(self):
        self.then_end()
        with open(os.path.join(self.results, "result.json"), "w") as file:
            file.write('{"steps": ')

    def then_early(self):
        self.step, self.ended = 17, True
        self.then_end()

    def then_no_result(self):
        pass


def predict(words):
    """Answers each line with the words of the call and itself; a line `fail` ends it, and `long` causes a warning."""
    said = dict(word.split("=", 1) for word in words if "=" in word)
    with (sys.stdin if said["--in"] == "-" else open(said["--in"]) as source,
          sys.stdout if said["--out"] == "-" else open(said["--out"], "w") as target):
        for line in source:
            if line == "fail\n":
                sys.exit("told to fail")
            if line == "long\n":
                event = {"v": 1, "kind": "warn", "seq": 1, "t": 0, "m": 0, "attempt": 1, "worker": 0, "step": 0,
                         "text": "1 of 2 texts was cut"}
                os.write(int(os.environ["PIPE_EVENTS_FD"]), (json.dumps(event) + "\n").encode())
            asked = " ".join(word for word in words if not word.startswith("--out="))
            print(asked, line, end="", file=target, flush=True)


def main():
    words = sys.argv[1:]
    if words[:2] in (["-m", "pipe_trainer.sample"], ["-m", "pipe_trainer.score"]):
        print(json.dumps(words[2:], ensure_ascii=False))
        return
    if words[:2] == ["-m", "pipe_trainer.predict"]:
        predict(words[2:])
        return
    if words[:3] != ["-m", "pipe_trainer", "--job"] or len(words) != 4:
        sys.exit(f"not started as the contract says: {words}")
    with open(words[3]) as file:
        trainer = Trainer(json.load(file))

    def on_term(*_):
        trainer.stopping = True

    signal.signal(signal.SIGTERM, on_term)
    if trainer.does.get("then") == "hang_at_start":
        time.sleep(60)
    trainer.train()


if __name__ == "__main__":
    main()
