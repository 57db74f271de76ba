"""Scores of a finished run on packed rows: `python -m pipe_trainer.score --run DIR --data DIR`."""

import argparse
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from .atomic import finite, write_text
from .data import vocabulary
from .exits import BAD_DATA, Ended
from .run import finished
from .run.finished import bounded

IDS_AT_A_TIME = 8192  # on a device
SHOWN = 120           # characters of a document


def options_of(argv):
    parser = argparse.ArgumentParser(prog="pipe_trainer.score", description=__doc__, allow_abbrev=False)
    parser.add_argument("--run", type=Path, required=True, help="the directory of a run, or of an export")
    parser.add_argument("--data", type=Path, required=True, help="a directory of write_packed or write_bert")
    parser.add_argument("--split", default="validation", help="of the rows (validation)")
    parser.add_argument("--rows", type=bounded(int, 0, 1 << 62), default=0, help="the first of the split; 0: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets the scores as JSON")
    return parser.parse_args(argv)


def setup_of(run, rows, limit):
    """Returns the setup.Setup in which HeldOut scores `rows` with the model of a finished run."""
    import jax

    from .config import BatchSize, Eval
    from .objectives import registry
    from .run import setup
    mine, theirs = run.facts["tokenizer"], rows.tokenizer
    if mine["model_digest"] != theirs["model_digest"]:
        raise Ended(BAD_DATA, f"{rows.directory}: its rows were made with the tokenizer {theirs['model_digest']}, and "
                              f"the model knows {mine['model_digest']}; make them with the tokenizer of the model")
    if "position_embed" in run.params and rows.seq_len > run.model.seq_len:
        raise Ended(BAD_DATA, f"{rows.directory}: rows of {rows.seq_len} ids, and the model has {run.model.seq_len} "
                              f"positions; make shorter rows")
    if run.model.classes and not (rows.labels and rows.labels.kind == run.labels.kind
                                  and run.labels.fit(rows.labels.names)):
        raise Ended(BAD_DATA, f"{rows.directory}: its labels are {rows.labels.words if rows.labels else 'none'}, and "
                              f"the model answers with {run.labels.words}; give write_packed the labels of the model")
    if run.model.classes:
        rows.labels = run.labels.texts_from(rows)
    if wrong := registry.of(run.config()).mistake_of_kind(rows):
        raise Ended(BAD_DATA, f"{rows.directory}: {wrong}; name rows of the kind that the model learned")
    devices = jax.local_devices()
    batch = max(IDS_AT_A_TIME // rows.seq_len, 1) * len(devices)
    config = replace(run.config(), model=replace(run.model, seq_len=rows.seq_len), batch=BatchSize(rows=batch),
                     eval=Eval(rows=limit, batch=batch))
    pieces = vocabulary.of_rows(rows) if registry.of(config).needs_pieces else ()
    arranged = setup.arrange(config, devices, rows, pieces)
    return setup.Setup(**vars(arranged), job=None, rows=rows, eval_rows=rows, fit={})


def scores_of(options):
    """Returns the scores, with `mistakes` if the rows have labels."""
    from .data.open_rows import open_rows
    from .eval.held_out import HeldOut
    from .run.events import Warnings
    run = finished.find(options.run)
    rows = open_rows(options.data, options.split)
    setup = setup_of(run, rows, options.rows)
    held_out = HeldOut(setup, Warnings.of_environment(os.environ))
    params = run.params
    if "position_embed" in params:
        params = {**params, "position_embed": params["position_embed"][:rows.seq_len]}
    if run.model.classes:
        params = {**params, "readout": run.labels.of_head(params["readout"], whole=False)}
    scores = held_out.score(params, lambda: False)
    return described(str(options.run), held_out, scores, None if held_out.labels is None else run.text())


def described(run, held_out, scores, text):
    """Returns the scores with the model and the rows that they belong to. `text`: for the documents of rows with
    labels; None: none are shown."""
    rows, config = held_out.rows, held_out.setup.config
    mistakes = {} if text is None else {"mistakes": held_out.mistakes(text)}
    return {"run": run, "data": str(rows.directory), "content": rows.digest, "split": rows.split,
            "rows": held_out.limit, "objective": asdict(config.objective), **scores, **mistakes}


def write_json(path, scores):
    write_text(path, json.dumps(finite(scores), indent=1, ensure_ascii=False) + "\n")


def table(columns, rows):
    widths = [max(len(str(row[at])) for row in (columns, *rows)) for at in range(len(columns))]
    return "\n".join("  " + "  ".join(str(cell).rjust(width) for cell, width in zip(row, widths))
                     for row in (columns, *rows))


def answering_of(scores):
    from .objectives import registry
    return registry.OBJECTIVES[scores["objective"]["name"]].answering


def summary(scores):
    """Returns lines: the loss, the bits, the scores of labels."""
    from .objectives import registry
    answering, of_rows = answering_of(scores), f"{scores['rows']:,} rows of"
    lines = [f"{of_rows} {scores['split']}: {scores['loss']:.4f} nats for each of {scores['targets']:,} targets"]
    if scores["bits_per_char"] is not None:
        lines.append(f"{scores['bits_per_byte']:.4f} bits per byte, {scores['bits_per_char']:.4f} bits per character")
    lines += [f"{scores[name]:.4f}  {name.replace('_', ' ')}" for name in registry.BESIDE if name in scores]
    if "documents" not in scores:
        return lines
    lines.append(f"{scores['documents']:,} documents with {answering.each}")
    if not answering.in_nats:
        lines = [f"{of_rows} {scores['split']}: {lines[-1]}"]
    return lines + [f"{scores[name]:{answering.digits}}  {said}" for name, said in answering.metrics.items()]


def text_of(scores):
    lines = summary(scores)
    if "documents" not in scores:
        return "\n".join(lines)
    if scores.get("confusion"):
        lines.append("documents by label (below) and answer (to the right), and the F1 of the label:")
        lines.append(table(["", *scores["labels"], "F1"],
                           [[name, *row, "-" if f1 is None else f"{f1:.4f}"]
                            for name, row, f1 in zip(scores["labels"], scores["confusion"], scores["f1"])]))
    if "mistakes" not in scores:
        return "\n".join(lines)
    said, badness, digits = answering_of(scores).worst
    lines.append(said)
    lines += ["  ".join((f"{one[badness]:{digits}}", one["label"], one["answer"], short(one["text"])))
              for one in scores["mistakes"]]
    return "\n".join(lines)


def short(text):
    return " ".join(text.split())[:SHOWN]


def main(argv):
    options = options_of(argv)

    def work():
        scores = scores_of(options)
        if options.json:
            write_json(options.json, scores)
        sys.stdout.reconfigure(encoding="utf-8")
        print(text_of(scores))
    return finished.reported("pipe_trainer.score", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
