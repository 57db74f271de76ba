"""Ends of runs that cannot begin or continue: an exit code, one clear line, and the file that the plugin reads."""

import errno
import json
import resource
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import session

from pipe_trainer import __main__ as main
from pipe_trainer import atomic, exits
from pipe_trainer.data.rows import DataError
from pipe_trainer.run.setup import prepare

import runs
from runs import Run


class Refused(unittest.TestCase):
    def refused(self, code, part, job):
        with self.assertRaises(exits.Ended) as ended:
            prepare(job, *2 * [session.random_rows(8)])
        self.assertEqual(ended.exception.code, code)
        self.assertIn(part, str(ended.exception))

    def test_a_tokenizer_that_does_not_match_the_rows(self):
        for tokenizer, part in (({"digest": "1" * 32}, "the job names 1111"), ({"vocab_size": 60}, "vocab_size 61")):
            self.refused(exits.BAD_DATA, part, session.small_job("-", tokenizer=tokenizer))

    def test_a_vocabulary_larger_than_the_models(self):
        self.refused(exits.BAD_JOB, "config.model.vocab: 60, and the tokenizer of the rows has 61",
                     session.small_job("-", {"model": {"vocab": 60}}))

    def test_rows_of_another_length(self):
        self.refused(exits.BAD_JOB, "config.model.seq_len: 64, and the rows have 32",
                     session.small_job("-", {"model": {"seq_len": 64}}))


class Outcomes(unittest.TestCase):
    def test_each_failure_has_its_code(self):
        for error, code, part in (
                (exits.Ended(86, "diverged"), 86, "diverged"),
                (DataError("x-00000.tfrecord: damaged at byte 7"), 65, "byte 7"),
                (RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes"), 64, "config.batch.micro"),
                (MemoryError(), 64, "out of memory"),
                (OSError(errno.ENOSPC, "No space left on device"), 75, "the disk is full; free some space"),
                (OSError(errno.EACCES, "Permission denied", "run/config.json"), 70, "run/config.json"),
                (type("JaxRuntimeError", (RuntimeError,), {})("UNAVAILABLE: peer is gone"), 75, "peer is gone"),
                (KeyError("x"), 70, "KeyError")):
            found, message = main.outcome(error)
            self.assertEqual(found, code)
            self.assertIn(part, message)
            self.assertEqual(len(message.splitlines()), 1)

    def test_an_environment_without_a_package_is_named_with_what_mends_it(self):
        with tempfile.TemporaryDirectory() as place:
            job = Path(place) / "job.json"
            job.write_text(json.dumps({"pipe_job": 1, "run_dir": place, "threads": 0,
                                       "data": {"dir": "d", "train": "t", "validation": "v"}}))
            error = Path(place) / "error.json"
            with mock.patch.dict("sys.modules", {"optax": None, "pipe_trainer.run.run": None}), \
                    mock.patch.dict("os.environ", {"PIPE_ERROR_FILE": str(error), "PIPE_EVENTS_FD": ""}):
                self.assertEqual(main.main(["--job", str(job)]), exits.ENVIRONMENT)
            self.assertIn("pipe trainer setup", json.loads(error.read_text())["message"])

    def test_a_file_that_the_disk_refuses_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as place, \
                mock.patch("os.fsync", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            self.assertRaises(OSError, atomic.write_text, Path(place) / "result.json", "{}")
            self.assertEqual(list(Path(place).iterdir()), [])

    def test_bad_usage(self):
        self.assertEqual(main.main(["--nonsense"]), exits.BAD_JOB)
        self.assertEqual(main.main(["--help"]), exits.DONE)


class Processes(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def ends(self, run, code, part):
        self.assertEqual(run.end(), code, run.log_end())
        error = json.loads(run.error_file.read_text())
        self.assertEqual(error["code"], code)
        self.assertIn(part, error["message"])
        return error

    def test_no_device_of_the_kind_that_is_wanted(self):
        self.ends(Run(self.place, runs.make_rows(self.place / "rows"), environ={"JAX_PLATFORMS": "tpu"}), 69, "tpu")

    def test_a_flipped_byte_in_a_shard(self):
        data = runs.make_rows(self.place / "rows")
        shard = next(data.glob("train-*.tfrecord"))
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        self.ends(Run(self.place, data), 65, shard.name)

    def test_a_save_that_the_disk_refuses_keeps_the_one_before(self):
        data = runs.make_rows(self.place / "rows")
        self.assertEqual(Run(self.place, data, steps=4).end(), 0)

        def no_large_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        with mock.patch.object(runs, "before_start", no_large_files):
            error = self.ends(Run(self.place, data), 75, "cannot be written")
        self.assertIn("checkpoints/8", error["message"])
        again = Run(self.place, data)
        self.assertEqual(again.end(), 0, again.log_end())
        self.assertEqual(again.of("restore")[0]["step"], 4)


if __name__ == "__main__":
    unittest.main()
