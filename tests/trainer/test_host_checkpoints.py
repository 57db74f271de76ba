"""Checkpoints of several hosts with a disk each, by the trainer's own code: real processes, directories apart, and a
stage that answers the trainers' needs. plugins/train/hosts/checkpoints.md."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "plugins/train/python"))

import xla_flags  # noqa: E402
from pipe_trainer.data import crc32c  # noqa: E402

STEP = 5
SHARDED, COPIED = "sharded", "copied"


def program(directory, task):
    """A process of a training. Prints a line of JSON about its end."""
    import jax
    from pipe_trainer import hosts
    from pipe_trainer.checkpoints import ckpt
    from pipe_trainer.run import devices
    devices.start(os.environ, print)
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    from pipe_trainer.checkpoints.host_ckpt import HostCheckpoints
    from pipe_trainer.exits import Ended
    mesh = Mesh(np.array(jax.devices()), ("all",))
    specs = {SHARDED: PartitionSpec("all"), COPIED: PartitionSpec(), "n": PartitionSpec()}
    values = {SHARDED: np.arange(64, dtype=np.float32).reshape(16, 4), COPIED: np.arange(8, dtype=np.float32),
              "n": np.float32(3)}
    state = {name: jax.make_array_from_callback(value.shape, NamedSharding(mesh, specs[name]), value.__getitem__)
             for name, value in values.items()}
    like = {name: jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=value.sharding)
            for name, value in state.items()}
    needed = []

    def ask(step, names):
        number = f"{jax.process_index()}-{len(needed)}"
        needed.extend(names)
        print(json.dumps({"need": number, "step": step, "files": names}), flush=True)
        return number

    alone = hosts.position().hosts == 1
    checkpoints = ckpt.Checkpoints(directory, 3) if alone else \
        HostCheckpoints(directory, 3, like, hosts.position(), ask, lambda: False)
    said = {"equal": True, "needed": needed}
    try:
        if task == "save":
            checkpoints.save(STEP, state, {"samples_consumed": 40}, lambda step: None)
            checkpoints.wait()
        else:
            if not alone:
                checkpoints.begin_at(hosts.position().resume)
            said["steps"] = checkpoints.steps()
            if said["steps"]:
                checkpoints.verify(STEP)
                said["facts"] = checkpoints.facts(STEP)
                for name, value in checkpoints.restore(STEP, like).items():
                    for shard in value.addressable_shards:
                        said["equal"] &= bool(np.array_equal(shard.data, values[name][shard.index]))
        checkpoints.close()
    except Ended as error:
        said.update(code=error.code, message=str(error))
    print(json.dumps(said), flush=True)
    os._exit(0)  # a process whose peer has ended would wait for it


class Slice:
    """Hosts on this machine, each with a directory; `parts`: {file: bytes} of the union, to answer needs."""

    def __init__(self, place, hosts, workers=1, parts=None):
        self.place, self.hosts, self.workers, self.parts = place, hosts, workers, parts or {}

    def disk(self, host):
        return self.place / f"host-{host}" / "checkpoints"

    def run(self, task, resume=str(STEP)):
        """Returns the last line of each process."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
        self.ends = [None] * (self.hosts * self.workers)
        threads = []
        for number in range(len(self.ends)):
            host = number // self.workers
            self.disk(host).mkdir(parents=True, exist_ok=True)
            env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": xla_flags.with_devices(2),
                   "PIPE_HOST_INDEX": str(host), "PIPE_HOST_COUNT": str(self.hosts), "PIPE_WORKER_INDEX": str(number),
                   "PIPE_WORKER_COUNT": str(len(self.ends)), "PIPE_COORDINATOR": coordinator, "PIPE_RESUME": resume,
                   "PIPE_ATTEMPT": "3"}
            process = subprocess.Popen([sys.executable, __file__, "program", str(self.disk(host)), task], env=env,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            threads.append(threading.Thread(target=self._serve, args=(number, process)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        return self.ends

    def _serve(self, number, process):
        errors = []
        drain = threading.Thread(target=lambda: errors.append(process.stderr.read()))
        drain.start()
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            if "need" in said:
                self._answer(number // self.workers, said)
            self.ends[number] = said
        process.wait(timeout=60)
        drain.join()
        process.stdout.close()
        process.stderr.close()
        if self.ends[number] is None:
            self.ends[number] = {"message": errors[0][-2000:]}

    def _answer(self, host, need):
        for name in need["files"]:
            path = self.disk(host) / str(need["step"]) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.parts[name])
        answers = self.disk(host).parent / "answers"
        answers.mkdir(exist_ok=True)
        (answers / "part").write_text(json.dumps({"id": need["need"]}))
        os.replace(answers / "part", answers / f"{need['need']}.json")

    def digests(self, host):
        return json.loads((self.disk(host) / f"{STEP}.json").read_text())


def union(made):
    """{file: bytes} of all parts; no file is in two of them."""
    found = {}
    for host in range(made.hosts):
        for file in made.digests(host)["files"]:
            assert file["name"] not in found, file
            found[file["name"]] = (made.disk(host) / str(STEP) / file["name"]).read_bytes()
    return found


def fetched(parts, slice_, host, hosts_before):
    """The disk of this host has only the files that are no chunks, as the stage brings them."""
    shutil.rmtree(slice_.disk(host), ignore_errors=True)
    here = slice_.disk(host) / str(STEP)
    for name, data in parts.items():
        last = name.rsplit("/", 1)[-1]
        if name.startswith("state/") and name.count("/") > 1 and last[0] not in "._":
            continue
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(data)
    (slice_.disk(host) / f"{STEP}.json").write_text(json.dumps({
        "pipe_checkpoint": 2, "step": STEP, "attempt": 3, "host": host, "hosts": hosts_before, "fetched": True,
        "files": [{"name": name, "bytes": len(data), "crc32c": "00000000"} for name, data in parts.items()]}))


def whole(parts, slice_, host):
    """The disk of this host gets all files, as the stage brings a checkpoint that it cannot fetch in part."""
    here = slice_.disk(host) / str(STEP)
    for name, data in parts.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(data)
    (slice_.disk(host) / f"{STEP}.json").write_text(json.dumps({
        "pipe_checkpoint": 1, "step": STEP,
        "files": [{"name": name, "bytes": len(data), "crc32c": f"{crc32c.crc32c(data):08x}"}
                  for name, data in parts.items()]}))


class HostCheckpointsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place = Path(place.name)
        cls.made = Slice(cls.place / "made", 2)
        cls.ends = cls.made.run("save")
        cls.parts = union(cls.made)

    def copy(self, name):
        copied = Slice(self.place / name, 2, parts=self.parts)
        shutil.copytree(self.made.place, copied.place)
        return copied

    def check_restored(self, ends):
        for end in ends:
            self.assertTrue(end.get("equal") and "code" not in end and end.get("facts"), end)

    def test_each_host_sends_the_chunks_that_no_lower_host_has(self):
        self.assertEqual([end.get("message") for end in self.ends], [None, None])
        first, second = ({file["name"] for file in self.made.digests(host)["files"]} for host in range(2))
        self.assertEqual(second, {f"state/{SHARDED}/2.0", f"state/{SHARDED}/3.0"})
        self.assertLessEqual({f"state/{COPIED}/0", f"state/{SHARDED}/0.0", "state/n/0", "facts/metadata"}, first)
        copies = {file["name"] for file in self.made.digests(1)["copies"]}
        self.assertIn(f"state/{COPIED}/0", copies)
        self.assertEqual({name: self.made.digests(1)[name] for name in ("attempt", "host", "hosts")},
                         {"attempt": 3, "host": 1, "hosts": 2})

    def test_a_host_restores_from_its_own_disk_alone(self):
        ends = self.copy("local").run("restore")
        self.check_restored(ends)
        self.assertEqual([end["needed"] for end in ends], [[], []])

    def test_a_host_without_its_disk_asks_only_for_the_chunks_of_its_devices(self):
        slice_ = self.copy("lost")
        fetched(self.parts, slice_, 1, 2)
        ends = slice_.run("restore")
        self.check_restored(ends)
        self.assertEqual(ends[0]["needed"], [])
        self.assertEqual(sorted(ends[1]["needed"]),
                         [f"state/{COPIED}/0", "state/n/0", f"state/{SHARDED}/2.0", f"state/{SHARDED}/3.0"])

    def test_more_hosts_restore_what_fewer_have_saved(self):
        slice_ = Slice(self.place / "more", 4, parts=self.parts)
        for host in range(4):
            fetched(self.parts, slice_, host, 2)
        ends = slice_.run("restore")
        self.check_restored(ends)
        self.assertIn(f"state/{SHARDED}/1.0", ends[1]["needed"])
        self.assertNotIn(f"state/{SHARDED}/0.0", ends[1]["needed"])

    def test_a_single_host_restores_what_several_have_saved(self):
        slice_ = Slice(self.place / "alone", 1)
        whole(self.parts, slice_, 0)
        self.check_restored(slice_.run("restore"))

    def test_several_hosts_restore_what_a_single_one_has_saved(self):
        """In the form of the version before, which knew one host: OCDBT, and a list of files of version 1."""
        alone = Slice(self.place / "one", 1)
        self.assertEqual([end.get("message") for end in alone.run("save")], [None])
        self.assertEqual(alone.digests(0)["pipe_checkpoint"], 1)
        slice_ = Slice(self.place / "several", 2)
        for host in range(2):
            whole(union(alone), slice_, host)
        ends = slice_.run("restore")
        self.check_restored(ends)
        self.assertEqual([end["needed"] for end in ends], [[], []])

    def test_damage_on_one_host_ends_all_and_is_set_aside_there(self):
        slice_ = self.copy("damaged")
        path = slice_.disk(1) / str(STEP) / f"state/{SHARDED}/2.0"
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        ends = slice_.run("restore")
        self.assertEqual([end.get("code") for end in ends], [75, 75], ends)
        self.assertIn("host 1", ends[1]["message"])
        self.assertTrue((slice_.disk(0) / str(STEP)).is_dir())
        self.assertFalse((slice_.disk(1) / str(STEP)).exists())
        self.assertEqual(len([path for path in slice_.disk(1).glob("damaged-*") if path.is_dir()]), 1)

    def test_a_training_that_begins_anew_removes_every_checkpoint(self):
        slice_ = self.copy("anew")
        ends = slice_.run("restore", resume="none")
        self.assertEqual([end.get("steps") for end in ends], [[], []], ends)
        self.assertEqual(list(slice_.disk(0).iterdir()), [])

    def test_workers_of_one_host_share_its_directory(self):
        slice_ = Slice(self.place / "workers", 2, workers=2)
        ends = slice_.run("save")
        self.assertEqual([end.get("message") for end in ends], [None] * 4)
        self.assertEqual({file["name"] for file in slice_.digests(1)["files"]},
                         {f"state/{SHARDED}/{number}.0" for number in range(4, 8)})
        deadline = time.monotonic() + 10
        while any(slice_.disk(1).glob("worker-*")) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(list(slice_.disk(1).glob("worker-*")), [])
        self.check_restored(slice_.run("restore"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["program"]:
        program(*sys.argv[2:])
    else:
        unittest.main()
