"""The rows of `run.py` about other tools that make ids or a data set of a text, in their newest releases."""

import json
import sys
from pathlib import Path

from measuring import run, spread
from packed_rows import tokenizer_of, with_tokenizer
from run_rows import pipe

HERE = Path(__file__).resolve().parent
FLOORS = {"datasets": 10, "datatrove": 10}  # smallest ratios of their wall time and ours
DIFFERENT = 0.02  # share of the ids: their Unigram breaks ties otherwise, and a last row is dropped


def peers(bench):
    """Compares `pipe run` with the chains that the pages of two tools show, on two processes: xz, NFKC, ids."""
    text, place = bench.texts.one_block, bench.root / "peer"
    model = tokenizer_of(bench, text) / "tokenizer.model"
    with_tokenizer(bench, text, "--until", "tokenizer")()
    fresh = with_tokenizer(bench, text, "--only", "packed")
    programs = {"datasets": [HERE / "peer_datasets.py", text, model, place / "datasets", 2],
                "datatrove": [HERE / "peer_datatrove.py", "run", place / "datatrove"]}
    run([bench.peers, HERE / "peer_datatrove.py", "prepare", text, model, place / "datatrove"])
    for package, program in programs.items():
        counted = bench.root / "peer.ids"

        def other(program=program, counted=counted):
            with open(counted, "wb") as out:
                return run([bench.peers, *program], stdout=out)

        # The processes of datatrove are no children of its program: its time would count as that of others.
        value, values, _ = bench.pairs(other, fresh, lambda theirs, ours: theirs.wall / ours.wall, times=0.4)
        ids = int(counted.read_text().split()[-1])
        ours = json.loads((bench.scratch / "out/packed/packed.json").read_text())["splits"]["train"]["targets"]
        if abs(ids - ours) > DIFFERENT * ours:
            sys.exit(f"bench: {package} made {ids} ids and `pipe run` {ours}")
        bench.row(f"wall of {bench.peer(package)} on two processes / of `pipe run`, xz to ids", value, FLOORS[package],
                  note=f"{spread(values)}; {ids / 1e6:.1f} M ids")
    data_set(bench)


def data_set(bench):
    """Compares `pipe run` with a builder of TensorFlow Datasets, which is one process: the same lines, shuffled. CPU
    time counts."""
    text, counted = bench.texts.one_block, bench.root / "peer.examples"

    def builder():
        with open(counted, "wb") as out:
            return run([bench.peers, HERE / "peer_tfds.py", text, bench.root / "peer/tfds"], stdout=out)

    value, values, _ = bench.pairs(builder, lambda: pipe(bench, text, shuffle="{seed: 0}"),
                                   lambda theirs, ours: theirs.cpu / ours.cpu, times=0.4)
    made = int(counted.read_text().split()[-1])
    described, = (bench.scratch / "out").glob("**/dataset_info.json")
    ours = sum(int(length) for length in json.loads(described.read_text())["splits"][0]["shardLengths"])
    if made != ours:
        sys.exit(f"bench: the builder wrote {made} examples and `pipe run` {ours}")
    bench.row(f"CPU of {bench.peer('tensorflow-datasets')}, a builder / of `pipe run`, xz to a data set", value, 4,
              note=f"{spread(values)}; {made} examples")
