"""Writes a model as Hugging Face's library reads it: weights in safetensors, config, tokenizer, a card. Reads it back.
A model that this library does not have gets a loader for torch beside it."""

import json
import os
import shutil
from dataclasses import replace as changed
from pathlib import Path

from ..data import vocabulary
from ..data.text import dictionary_of, rules_of
from ..model import families
from . import leaner, model_card, safetensors, tokenizer_json, word_pieces
from .bert_form import Bert
from .form import special_ids
from .llama_form import Llama
from .t5_form import T5
from .weight_files import WEIGHTS

FACTS = "pipe.json"  # for our own reader; not a file of Hugging Face
LOADER = "torch_model.py"  # runs where the export is, not here

# By model_type, the first of which is the family.
FORMS = {kind: form for form in (Llama(), Bert(), T5()) for kind in families.FAMILIES[form.FAMILY].model_types}


class NotExportable(Exception):
    """No program reads an export of the model."""


def tokenizer_files(tokenizer, pieces, seq_len, mask=None):
    """Returns tokenizer_config.json and special_tokens_map.json. `pieces` gives the text of an id; `mask`: the piece in
    the place of hidden ids."""
    named = {name: pieces(tokenizer[f"{name}_id"]) for name in ("eos", "unk", "pad")
             if tokenizer[f"{name}_id"] >= 0}
    special = {"bos_token": named.get("eos"), **{f"{name}_token": piece for name, piece in named.items()}}
    special = {name: piece for name, piece in {**special, "mask_token": mask}.items() if piece is not None}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast",  # reads tokenizer.json, and nothing else
                "add_bos_token": True,
                "add_eos_token": False, "add_prefix_space": False, "clean_up_tokenization_spaces": False,
                "model_max_length": seq_len}
    return {**settings, **special}, special


def write(params, config, tokenizer, facts, directory, marks=(), start=None, named=None, files=None):
    """Writes the whole directory or nothing: it gets its name when everything is written. Returns the rows `leaner` of
    `facts`, with the bytes of their files.

    `tokenizer`: the one of packed.json, with `path`, that of its file. `facts`: see model_card.text. `marks`:
    of objectives.marks_of; `start`: the first input of a decoder; `named`: labels that the model answers with; `files`:
    {file: type} of leaner weights."""
    if not config.exports:
        raise NotExportable(f"a model of family {config.family} has no counterpart in transformers; its checkpoints "
                            f"stay usable")
    form = FORMS[config.family]
    directory = Path(directory)
    part = directory.with_name(directory.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    rules = rules_of(facts.get("lineage"))
    ids = {key: value for key, value in tokenizer.items() if key not in ("path", "morphemes")}
    shutil.copyfile(tokenizer["path"], part / ids["model"])
    pieces = vocabulary.pieces_of(part / ids["model"])
    marks = [(number, pieces[number][0] if number < ids["vocab_size"] else name) for number, name in marks]
    mask = marks[0][1] if marks and config.family == "bert" else None
    if vocabulary.is_vocabulary(ids["model"]):
        dictionary = dictionary_of(facts.get("lineage"), tokenizer)
        ids |= {} if dictionary is None else {"morphemes": True}
        settings, special = word_pieces.files(ids, pieces, config.seq_len, mask, dictionary, rules or ())
        whole = word_pieces.document(pieces, ids, rules or ()) if dictionary is None else None
    else:
        settings, special, whole = of_model(part / ids["model"], ids, pieces, rules, config.seq_len, mask)
    for number, name in marks if whole else ():
        tokenizer_json.add_special(whole, number, name)
    generation = {**special_ids(ids), "do_sample": True, "temperature": 0.8, "top_p": 0.95}
    documents = {
        "config.json": {**form.settings(config, ids, start), **(of_labels(named) if config.classes else {})},
        **({"generation_config.json": generation} if families.of(config).causal else {}),
        "tokenizer_config.json": settings,
        "special_tokens_map.json": special,
        FACTS: {"tokenizer": ids, "normalize": [rule._asdict() for rule in rules or ()],
                **({} if mask is None else {"mask_id": marks[0][0]}),
                **({} if named is None else {"labels": named.facts()}),
                **({} if "config" not in facts else {"objective": facts["config"]["objective"]})},
        **({"tokenizer.json": whole} if whole else {}),
    }
    for name, value in documents.items():
        (part / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if config.classes:
        params = {**params, "readout": named.of_head(params["readout"], whole=True)}
    tensors = list(form.tensors_of(params, config))
    safetensors.write(part / WEIGHTS, tensors)
    for file, kind in (files or {}).items():
        leaner.write(part / file, kind, tensors, config, ids, part / ids["model"], facts.get("name", "model"))
    rows = [{**row, "bytes_of_file": (part / (row["file"] or WEIGHTS)).stat().st_size}
            for row in facts.get("leaner", ())]
    card = model_card.text(config, ids, {**facts, "zeros": leaner.zeros(tensors), "rules": rules,
                                         "tokenizer_json": bool(whole), "leaner": rows})
    (part / "README.md").write_text(card, encoding="utf-8")
    if "torch" in config.exports:
        shutil.copyfile(Path(__file__).with_name(LOADER), part / LOADER)
    replace(part, directory)
    return rows


def of_model(file, ids, pieces, rules, seq_len, mask):
    """Returns tokenizer_config.json, special_tokens_map.json and tokenizer.json of a SentencePiece model. The last one
    is None if only SentencePiece itself reads the model."""
    settings, special = tokenizer_files(ids, [text for text, _, _ in pieces].__getitem__, seq_len, mask)
    whole = tokenizer_json.document(file.read_bytes(), ids, rules or ())
    if whole is None:
        settings = {**settings, "tokenizer_class": "LlamaTokenizer", "legacy": True}
    return settings, special, whole


def of_labels(named):
    """Returns the members of config.json about the labels of a head."""
    return {"architectures": ["BertForSequenceClassification"], "problem_type": named.problem,
            "id2label": {str(number): name for number, name in enumerate(named.names)},
            "label2id": {name: number for number, name in enumerate(named.names)}}


def replace(part, directory):
    old = directory.with_name(directory.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        os.rename(directory, old)
    os.rename(part, directory)
    shutil.rmtree(old, ignore_errors=True)


def place_in(run):
    """Returns the directory of an export: that of a run, or the directory itself; None if neither is one."""
    return next((place for place in (run / "export", run) if (place / WEIGHTS).is_file()), None)


def read(directory):
    """Reads an export. Returns (params, config, content of pipe.json). Raises ValueError if it cannot read it."""
    directory = Path(directory)
    settings, facts = (json.loads((directory / name).read_text(encoding="utf-8")) for name in ("config.json", FACTS))
    form = FORMS.get(settings.get("model_type"))
    if form is None:
        raise ValueError(f"{directory}/config.json: a model of the type {settings.get('model_type')}; this trainer "
                         f"reads {', '.join(FORMS)}")
    tensors = safetensors.read(directory / WEIGHTS)
    try:
        config = changed(form.shape_of(settings), eos=facts["tokenizer"]["eos_id"],
                         begin=vocabulary.begin_of(facts["tokenizer"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{directory}/config.json: {absent(error)}; export the model again") from None
    try:
        return form.parameters_of(tensors, config), config, facts
    except (KeyError, ValueError) as error:
        raise ValueError(f"{directory}/{WEIGHTS}: does not fit its config.json: {absent(error)}; export the model "
                         f"again") from None


def absent(error):
    return f"there is no {error}" if isinstance(error, KeyError) else error
