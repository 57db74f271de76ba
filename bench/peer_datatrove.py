#!/usr/bin/env python3
"""The chain of datatrove from compressed text to the ids of each document: `JsonlReader`, `DocumentTokenizer`.

    peer_datatrove.py prepare TEXT.xz TOKENIZER.model PLACE     makes a file of JSON Lines for each process
    peer_datatrove.py run PLACE                                 prints the number of ids
"""

import json
import lzma
import shutil
import sys
from pathlib import Path

import peer_tokenizer

PROCESSES = 2  # a file is never divided between processes


def prepare(text, model, place):
    shutil.rmtree(place, ignore_errors=True)
    (place / "in").mkdir(parents=True)
    files = [lzma.open(place / f"in/{number}.jsonl.xz", "wt", encoding="utf-8") for number in range(PROCESSES)]
    with lzma.open(text, "rt", encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines):
            if line.strip():
                record = {"id": str(number), "text": line.strip()}
                files[number % PROCESSES].write(json.dumps(record, ensure_ascii=False) + "\n")
    for file in files:
        file.close()
    peer_tokenizer.of_model(model).save(str(place / "tokenizer.json"))


def ids_of(place):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    for made in ("out", "logs"):
        shutil.rmtree(place / made, ignore_errors=True)
    LocalPipelineExecutor(
        pipeline=[JsonlReader(str(place / "in"), compression="infer"),
                  DocumentTokenizer(str(place / "out"), tokenizer_name_or_path=str(place / "tokenizer.json"),
                                    eos_token="</s>", shuffle_documents=False)],
        tasks=PROCESSES, workers=PROCESSES, logging_dir=str(place / "logs")).run()
    return sum(file.stat().st_size for file in (place / "out").glob("**/*.ds")) // 2


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        print(ids_of(Path(sys.argv[2])))
