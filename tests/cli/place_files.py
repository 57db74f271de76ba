#!/usr/bin/env python3
"""Files of a person at a location where runs publish, and leftovers of runs there: which are kept, and which are
removed (dag/location/location_names.md).

    place_files.py PIPE FAKE_GCS [NAME...]
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from fake_buckets import BUCKET, FakeBucket
from pipe_run import Run, differences, hold, text_line
from replan_support import corpus
from scenarios import play, scenario

MINE = {"NOTES.md": b"do not touch\n", "my_model/config.json": b"{}\n", "my_model/place-train.tfrecord": b"mine\n"}


class Location(Run):
    """A run whose number of shards may change each time."""

    source = None  # the corpus

    def __init__(self, program, root):
        super().__init__(program, root, text_line("place", shards='"${n}"').replace('corpus: ""', 'corpus: "", n: 6'))

    def run(self, shards, *options, kill_at=None):
        return self.finish("--set", f"corpus={self.source}", "--set", f"n={shards}", *options, kill_at=kill_at)

    def forget(self):
        """Removes the work directory."""
        shutil.rmtree(self.work, ignore_errors=True)


class Directory(Location):
    def put(self, files):
        for name, data in files.items():
            path = self.out / "place/1.0.0" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def drop(self, name):
        path = self.out / "place/1.0.0" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def there(self):
        """{name: bytes} of all files there, without those below .pipe/."""
        location = self.out / "place/1.0.0"
        return {str(path.relative_to(location)): path.read_bytes() for path in location.rglob("*")
                if path.is_file() and ".pipe" not in path.parts}

    def state(self):
        """All files there, with the attributes that a write changes."""
        location = self.out / "place/1.0.0"
        stats = {path: path.stat() for path in (location, *location.rglob("*"))}
        return {(str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in stats.items()}

    def books(self):
        return sorted(path.name for path in (self.out / "place/1.0.0/.pipe/names").glob("*"))


class Bucket(Location):
    def __init__(self, program, root, bucket, out):
        super().__init__(program, root)
        self.bucket, self.below, self.out = bucket, f"{out}/place/1.0.0/", f"gs://{BUCKET}/{out}"

    def put(self, files):
        for name, data in files.items():
            self.bucket.put(BUCKET, f"{self.below}{name}", data)

    def drop(self, name):
        for found in self.bucket.objects():
            if found.startswith(f"{self.below}{name}"):
                self.bucket.remove(found)

    def there(self):
        return {name.removeprefix(self.below): data for name, (_, data) in self.bucket.objects().items()
                if name.startswith(self.below) and "/.pipe/" not in name}

    def state(self):
        """All objects there; each write gives an object a new generation."""
        return {(name, generation) for name, (generation, _) in self.bucket.objects().items() if name.startswith(self.below)}

    def books(self):
        return sorted(name.rpartition("/")[2] for name in self.bucket.objects() if name.startswith(f"{self.below}.pipe/names/"))


class Scenarios:
    def __init__(self, wanted):
        self.wanted = wanted  # by number of shards

    def holds(self, location, shards, mine=MINE):
        found = location.there()
        wanted = {**self.wanted[shards], **mine}
        hold(not differences(wanted, found), location, f"other objects: {differences(wanted, found)}")

    def looks(self, location, code, *words):
        before = len(location.messages())
        hold(location.verify(f"{location.out}/place/1.0.0") == code, location, f"verify did not end with {code}")
        told = location.messages()[before:]
        hold(all(word in told for word in words), location, f"verify did not say {words}")

    @scenario
    def files_of_a_person_stay(self, location):
        hold(location.run(6) == 0, location, "failed")
        location.put(MINE)
        hold(location.run(6) == 0, location, "failed")
        self.holds(location, 6)
        self.looks(location, 0, "NOTES.md, my_model/config.json, my_model/place-train.tfrecord: no run wrote them", ": good:")
        hold(location.run(6, "--force", "text") == 0, location, "failed")
        self.holds(location, 6)
        hold(location.run(3) == 2, location, "another recipe was taken")
        hold(location.run(3, "--force", "text") == 0, location, "failed")
        hold("NOTES.md, my_model/config.json, my_model/place-train.tfrecord beside the artifact stay" in location.messages(),
             location, "what stays was not named")
        self.holds(location, 3)
        hold(len(location.books()) == 1, location, f"the list has {len(location.books())} parts")

    @scenario
    def what_is_up_to_date_is_not_written_to(self, location):
        """Works on a medium that can only be read."""
        hold(location.run(6) == 0, location, "failed")
        before = location.state()
        hold(location.run(6) == 0, location, "failed")
        location.forget()
        hold(location.run(6) == 0, location, "failed from another work directory")
        hold(location.state() == before, location, f"something was written: {set(location.state()) ^ set(before)}")

    @scenario
    def shards_of_a_killed_run_go(self, location):
        hold(location.run(6, kill_at="shard.logged:4") == -9, location, "was not killed")
        left = location.there()
        hold(len(left) >= 4, location, f"it left {left.keys()}")
        location.forget()
        location.put(MINE)
        hold(location.run(3) == 0, location, "failed")
        self.holds(location, 3)
        self.looks(location, 0, ": good:")

    @scenario
    def a_kill_between_list_and_object(self, location):
        hold(location.run(6, kill_at="names.listed:1") == -9, location, "was not killed")
        hold(location.there() == {} and location.books(), location, "nothing but the list should be there")
        location.forget()
        location.put(MINE)
        hold(location.run(3, kill_at="shard.committed:2") == -9, location, "was not killed")
        location.forget()
        hold(location.run(6) == 0, location, "failed")
        self.holds(location, 6)

    @scenario
    def what_readers_would_take_is_refused(self, location):
        hold(location.run(6) == 0, location, "failed")
        for name in ("place-train.tfrecord-mine", "place-train.tfrecord-00002-of-00003"):
            location.put({name: b"mine\n", **MINE})
            before = location.there()
            told = len(location.messages())
            hold(location.run(3, "--force", "text") == 2, location, f"{name} was not refused")
            hold(f"no run wrote {name}" in location.messages()[told:], location, f"{name} was not named")
            hold(location.there() == before, location, "something was written")
            self.looks(location, 1, f"{name}: is in no manifest, and readers of the artifact would take it")
            hold(location.run(6) == 0, location, "what is up to date writes nothing, and so refuses nothing")
            location.drop(name)
        hold(location.run(3, "--force", "text") == 0, location, "failed")
        self.holds(location, 3)

    @scenario
    def a_location_from_before_the_list(self, location):
        """A location without its list of names, and one with a damaged list."""
        for damaged in (False, True):
            location.forget()
            hold(location.run(6, *(("--force", "text") if damaged else ()), kill_at="shard.logged:4") == -9, location,
                 "was not killed")
            for part in location.books():
                location.drop(f".pipe/names/{part}")
            if damaged:
                location.put({".pipe/names/0-00000": b"# pipe names v1\nnonsense"})
            location.put(MINE)
            location.forget()
            hold(location.run(3) == 0, location, "failed")
            self.holds(location, 3)
            location.drop("MANIFEST.json")


def main():
    pipe, fake, *names = sys.argv[1:]
    pipe, fake = Path(pipe).resolve(), Path(fake).resolve()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        Location.source = root / "corpus.txt"
        Location.source.write_bytes(corpus())

        def alone(shards):
            run = Directory(pipe, root / f"alone-{shards}")
            hold(run.run(shards) == 0, run, "failed")
            return run.there()

        scenarios = Scenarios({shards: alone(shards) for shards in (3, 6)})
        play(scenarios, names, lambda name: (Directory(pipe, root / name),))
        with FakeBucket(fake, root / "bucket") as bucket:
            os.environ["STORAGE_EMULATOR_HOST"] = bucket.url
            play(scenarios, names, lambda name: (Bucket(pipe, root / f"{name}-bucket", bucket, name),))


if __name__ == "__main__":
    main()
