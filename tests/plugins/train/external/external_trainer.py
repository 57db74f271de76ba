#!/usr/bin/env python3
"""A program of somebody else: it writes lines and checkpoints in its own way, and knows nothing of the stage.

    external_trainer.py --run DIR --steps N --does FILE WORD...

FILE has a JSON list: attempt N follows entry N, later attempts follow the last one. An entry:

    steps: N     trains to this step (else to --steps), with a checkpoint every 5 steps
    when: GLOB   waits then until there is such a file
    then: WHAT   end (default) | exit (with `code`) | hang | flood | ignore_term | until it is stopped, wait | chat
             | kill: starts a process in a session of its own, which lives on, and is killed
    save: false  the last step leaves no model
    events: true writes its steps as TensorBoard events, and no lines
    loss: WORD   prints this from step 9 on; "" leaves the loss out
    first: 0     counts its steps from 0
    stops: well  after SIGTERM it saves a checkpoint and the model, and ends with 0

It keeps its two newest checkpoints, DIR/checkpoints/checkpoint-N with a file `weights` and, last, a file COMMIT, and
continues from the newest one. At the end it writes DIR/model.bin. `DIR/words.json` has its own words.

With `--host N`, FILE has a list for each host, by its number, and only host 0 writes checkpoints and the model. After
SIGTERM it saves a checkpoint and ends with 5. With `--parts HOSTS`, as many hosts share DIR, and each writes a file
`weights-N` of every checkpoint.
"""

import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from fake_trainer import crc32c  # noqa: E402


class EventWriter:
    """A TensorBoard file with one scalar in each event."""

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        self.file = open(os.path.join(directory, f"events.out.tfevents.{os.getpid()}"), "xb", buffering=0)

    def scalar(self, step, value, tag=b"train/loss"):
        entry = b"\x0a" + bytes([len(tag)]) + tag + b"\x15" + struct.pack("<f", value)
        summary = b"\x0a" + bytes([len(entry)]) + entry
        event = b"\x09" + struct.pack("<d", time.time()) + b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary
        size = struct.pack("<Q", len(event))
        self.file.write(size + self.checksum(size) + event + self.checksum(event))

    @staticmethod
    def checksum(data):
        """The CRC-32C of `data`, masked as TFRecord has it."""
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def wait_for(pattern):
    while not glob.glob(pattern):
        time.sleep(0.02)


def main():
    words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    run, total, host = words["--run"], int(words["--steps"]), words.get("--host", "0")
    parts = [f"weights-{number}" for number in range(int(words["--parts"]))] if "--parts" in words else ["weights"]
    with open(os.path.join(run, "words.json" if host == "0" else f"words-{host}.json"), "w") as file:
        json.dump(sys.argv[1:], file)
    with open(words["--does"]) as file:
        behaviours = json.load(file)
    if "--host" in words:
        behaviours = behaviours[host]
    does = behaviours[min(int(os.environ["PIPE_ATTEMPT"]), len(behaviours)) - 1]
    place = os.path.join(run, "checkpoints")
    os.makedirs(place, exist_ok=True)

    def committed():
        return sorted(int(name.split("-")[1]) for name in os.listdir(place)
                      if os.path.exists(os.path.join(place, name, "COMMIT")))

    def save(step):
        entry = os.path.join(place, f"checkpoint-{step}")
        if host == "0":
            shutil.rmtree(entry, ignore_errors=True)
            os.mkdir(entry)
        names = [f"weights-{host}"] if len(parts) > 1 else ["weights", "COMMIT"] if host == "0" else []
        for name in names:
            wait_for(entry)
            with open(os.path.join(entry, name), "w") as file:
                file.write(f"weights at {step}" if name != "COMMIT" else "")
        if len(parts) > 1:
            if host == "0":
                for name in parts:
                    wait_for(os.path.join(entry, name))
                open(os.path.join(entry, "COMMIT"), "w").close()
            wait_for(os.path.join(entry, "COMMIT"))

    def save_model():
        with open(os.path.join(run, "model.bin"), "w") as file:
            file.write(f"model at {step}")

    def stopped(*_):
        print(f"stopped at {step}")
        save(step)
        if does.get("stops") == "well":
            save_model()
            sys.exit(0)
        sys.exit(5)

    left = os.path.join(run, "left")
    if os.path.exists(left):
        with open(left) as file:
            if os.path.exists(f"/proc/{file.read()}/exe"):  # a process that has ended has none
                sys.exit(9)

    step = (committed() or [0])[-1]
    if step:
        for name in parts:
            with open(os.path.join(place, f"checkpoint-{step}", name)) as file:
                if file.read() != f"weights at {step}":
                    sys.exit(9)
    if "--host" in words or "stops" in does:
        signal.signal(signal.SIGTERM, stopped)
    print(f"continues from {step}")
    if "PIPE_EVENTS_FD" in os.environ:
        sys.exit(8)
    writer = does.get("events") and EventWriter(os.path.join(run, "logs"))
    while step < min(total, does.get("steps", total)):
        step += 1
        if writer:
            writer.scalar(step, 8 / step)
        else:
            loss = does["loss"] if "loss" in does and step > 8 else f"{8 / step:.4f}"
            print(f"step {step - 1 + does.get('first', 1)} {loss and 'loss='}{loss}", end="\r" if step % 2 else "\n")
        if step % 5 == 0:
            save(step)
            for old in committed()[:-2] if host == "0" else ():
                shutil.rmtree(os.path.join(place, f"checkpoint-{old}"))
    if "when" in does:
        wait_for(does["when"])
    then = does.get("then", "end")
    while then in ("wait", "chat"):
        print(f"{then}s" if then == "chat" else "", end="")
        time.sleep(0.3)
    if then in ("hang", "ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if then == "ignore_term":
            print(f"step {step + 1} loss=1")
        time.sleep(60)
    if then == "flood":
        for number in range(200_000):
            print(f"step {step} loss=0.5 line {number} " + "x" * 100)
        print("y" * (1 << 20))
        with open(os.path.join(run, "flooded"), "w"):
            pass
    if then == "kill":
        with open(left, "w") as file:
            file.write(str(subprocess.Popen(["sleep", "60"], start_new_session=True).pid))
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "exit":
        sys.exit(does["code"])
    if does.get("save", True) and host == "0":
        save_model()


if __name__ == "__main__":
    main()
