#!/usr/bin/env python3
"""A training that begins with a model, by `pipe run` with a trainer that follows instructions: which bytes count, and
which files are refused before work.

    begun_models.py PIPE
"""

import json
import sys
from pathlib import Path

from train_run import check, pipeline, runs, support


def begins_with_a_model(sandbox, train):
    """A second training that begins with the model of the first, or with a file of somebody else."""
    sandbox.ok()
    (first,) = before = set(runs(sandbox))
    tuned = {**train, "inputs": {**train["inputs"], "init_from": "train"}, "steps": 10}
    sandbox.stages["tuned"] = tuned
    run = sandbox.ok()
    check(run.of("jobs", "tuned") == 1 and run.of("jobs", "train") == 0, run.counted())
    (directory,) = set(runs(sandbox)) - before
    check(directory.name.startswith("tuned-"), directory)
    job = json.loads((directory / "job.json").read_text())
    check(job["init_from"] == str(first), "it does not begin with the model")
    check(job["lineage"]["init_from"]["recipe"].startswith(first.name.removeprefix("train-")), job["lineage"])
    check(sandbox.ok().of("jobs") == 0, "trained again for nothing")

    model = sandbox.root / "other/model.safetensors"
    model.parent.mkdir()
    found = set()
    for weights in ("weights", "other weights", "other weights"):  # the bytes are a part of the recipe
        model.write_text(weights)
        tuned["inputs"]["init_from"] = str(model)
        sandbox.ok()
        found = {place for place in runs(sandbox) if place.name.startswith("tuned-")}
    check(len(found) == 3, found)
    newest = {json.loads((place / "job.json").read_text())["init_from"] for place in found}
    check(newest == {str(first), str(model)}, newest)

    # The tokenizer beside it, as a file: the same bytes as the stage's, and no artifact.
    pieces = model.with_name("tokenizer.model")
    pieces.write_bytes((sandbox.out / "tokenizer/tokenizer.model").read_bytes())
    tuned["inputs"]["tokenizer"] = str(pieces)
    before = set(runs(sandbox))
    sandbox.ok()
    (directory,) = set(runs(sandbox)) - before
    job = json.loads((directory / "job.json").read_text())
    check(job["tokenizer"]["model"] == str(pieces) and "tokenizer" not in job["lineage"], job)
    pieces.write_bytes(b"other pieces")
    run = sandbox.run()
    check(run.code == 1 and f"than the one at `tokenizer` ({pieces}" in run.err, run.err)
    tuned["inputs"]["tokenizer"] = "tokenizer"

    tuned["inputs"]["init_from"] = str(sandbox.root / "nowhere/model.safetensors.index.json")
    run = sandbox.run()
    check(run.code == 2 and "nowhere/model.safetensors.index.json" in run.err, run.err)
    return tuned


def begins_with_several_files(sandbox, tuned):
    """All files that the index names count; none of another place is read."""
    place = sandbox.root / "large"
    place.mkdir()
    parts = [place / f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    index = place / "model.safetensors.index.json"

    def names(*files):
        index.write_text(json.dumps({"weight_map": {f"tensor {number}": file for number, file in enumerate(files)}}))
        return files
    names(*(part.name for part in parts), parts[0].name)
    tuned["inputs"]["init_from"] = str(index)
    parts[0].write_text("weights")
    run = sandbox.run()
    check(run.code == 2 and f"{parts[1]}: " in run.err, run.err)
    run = sandbox.run(command="validate")
    check(run.code == 0 and f"{parts[1]}: " in run.err, run.err)
    for weights, trains in (("weights", 1), ("other weights", 1), ("other weights", 0)):
        parts[1].write_text(weights)
        check(sandbox.ok().of("jobs", "tuned") == trains, weights)
    begins = [json.loads((run / "job.json").read_text()).get("init_from") for run in runs(sandbox)]
    check(begins.count(str(index)) == 2, begins)
    parts[1].unlink()  # a finished model stays though the one that it began with is gone
    check(sandbox.ok().of("jobs") == 0, "trained again")

    def refused(word):
        for command in ("validate", "run"):
            run = sandbox.run(command=command)
            check(run.code == 2 and word in run.err, f"{command}: {run.code}\n{run.err}")
        # A file on the disk hides nothing that is known of the run.
        run = sandbox.run(command="status")
        check(run.code == 0 and word not in run.err, f"status: {run.code}\n{run.err}")
    names("../other/model.safetensors")
    refused("index.json: its `weight_map` names '../other/model.safetensors', and only files")
    names()
    refused("names no file")
    index.write_text("[1")
    refused("index.json: is not JSON")
    names(parts[0].name)
    (place / "config.json").write_text('{"model_type": "mistral"}')
    refused("config.json: has model_type mistral, and the trainer begins with bert, llama, pipe_t5_experts, t5")
    (place / "config.json").write_text('{"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}')
    refused("config.json: has rope_parameters of rope_type llama3, and the trainer knows `default` alone")
    (place / "config.json").write_text('{"rope_scaling": {"type": "linear", "factor": 2.0}}')
    refused("config.json: has rope_scaling, and the trainer knows plain rotary positions alone")
    (place / "config.json").write_text('{"rope_scaling": null, "rope_parameters": {"rope_type": "default"}}')
    check(sandbox.run(command="validate").code == 0, "plain positions are refused")
    for name in ("pytorch_model.bin", "model-00001-of-00002.safetensors"):
        tuned["inputs"]["init_from"] = str(place / name)
        refused(f"{name}: is not model.safetensors or model.safetensors.index.json")
    for url in ("gs://bucket/bert/model.safetensors", "https://me:secret@host/model.safetensors?download=true"):
        tuned["inputs"]["init_from"] = url
        refused("init_from: is a URL, and the trainer reads files of this machine")
        check("secret" not in sandbox.run(command="validate").err, "a secret is shown")
    tuned["inputs"]["init_from"] = "train"
    tuned["inputs"]["tokenizer"] = str(place / "spiece.model")
    (place / "spiece.model").write_text("pieces")
    refused("spiece.model must have the name tokenizer.model")
    tuned["inputs"]["tokenizer"] = "tokenizer"
    tuned.update(trainer="external", command=["true"], success=["model.bin"])
    for key in ("config", "eval_every", "checkpoint_every", "prompts"):
        tuned.pop(key)
    run = sandbox.run(command="validate")
    check(run.code == 2 and "init_from: only `trainer: bundled` reads it" in run.err, run.err)


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    with support.Sandbox() as sandbox:
        begins_with_several_files(sandbox, begins_with_a_model(sandbox, pipeline(sandbox)))


if __name__ == "__main__":
    main()
