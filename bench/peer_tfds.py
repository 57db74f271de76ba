#!/usr/bin/env python3
"""The builder that users of TensorFlow Datasets write for a text: xz, NFKC, a line per example, shuffled shards.

    peer_tfds.py TEXT.xz PLACE     prints the number of examples

It writes ArrayRecord, which TensorFlow Datasets does without TensorFlow.
"""

import lzma
import shutil
import sys
import unicodedata
from pathlib import Path

import tensorflow_datasets as tfds

NO_STATISTICS = tfds.download.DownloadConfig(compute_stats=tfds.download.ComputeStatsMode.SKIP)


class Lines(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")
    pkg_dir_path = Path(__file__).resolve().parent  # a program has no package for it to find

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict({"text": tfds.features.Text()}))

    def _split_generators(self, manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        with lzma.open(sys.argv[1], "rt", encoding="utf-8", newline="\n") as text:
            for number, line in enumerate(text):
                clean = " ".join(unicodedata.normalize("NFKC", line).split())
                if clean:
                    yield number, {"text": clean}


def main(place):
    shutil.rmtree(place, ignore_errors=True)
    builder = Lines(data_dir=place, file_format="array_record")
    builder.download_and_prepare(download_config=NO_STATISTICS)
    print(builder.info.splits["train"].num_examples)
    shutil.rmtree(place)


if __name__ == "__main__":
    main(sys.argv[2])
