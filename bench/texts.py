"""The text for measurements, in the forms that the rows need."""

import hashlib
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS_BYTES = 72_000_000
LARGE_BYTES = 2_000_000_000


class Texts:
    """One text in six forms: as one xz block, as many blocks, four times over in one block, ten times over in many
    blocks, as often as 2 GB take in many blocks, and plain. Made once and kept in `root`."""

    def __init__(self, corpus, root):
        root.mkdir(parents=True, exist_ok=True)
        if corpus is None:
            corpus = root / "made.txt.xz"
            self.make(corpus, f"{HERE / 'make_corpus.py'} {CORPUS_BYTES} | xz -6 -T1 -c")
        name = hashlib.sha256(str(corpus.resolve()).encode()).hexdigest()[:8]
        self.one_block = corpus
        self.blocks = root / f"{name}.blocks.xz"
        self.plain = root / f"{name}.txt"
        self.tenfold = root / f"{name}.tenfold.xz"
        self.large = root / f"{name}.large.xz"
        self.long_block = root / f"{name}.long.xz"
        self.make(self.plain, f"xz -dc '{corpus}'")
        self.make(self.blocks, f"xz -6 -T2 --block-size=4MiB -c '{self.plain}'")
        self.make(self.long_block, f"cat {' '.join([repr(str(self.plain))] * 4)} | xz -6 -T1 -c")
        # An .xz file may have many streams.
        self.make(self.tenfold, "cat" + f" '{self.blocks}'" * 10)
        self.large_times = -(-LARGE_BYTES // self.plain.stat().st_size)
        self.make(self.large, "cat" + f" '{self.blocks}'" * self.large_times)

    @staticmethod
    def make(path, command):
        if path.exists():
            return
        part = path.with_suffix(".part")
        subprocess.run(["bash", "-o", "pipefail", "-c", f"{command} >'{part}'"], check=True)
        part.rename(path)
