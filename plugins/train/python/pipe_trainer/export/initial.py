"""Parameters to begin with, from an export of ours or a directory of Hugging Face: `init_from` of a job.

The shape of the model is that of the directory. Its tokenizer must give each id of the rows the same piece.
"""

import json
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from .. import atomic
from ..config import SHAPE, SHAPE_OF_EXPERTS, misfit
from ..data import vocabulary
from ..exits import BAD_DATA, BadJob, Ended
from ..objectives import registry
from . import export
from .form import Unreadable
from .safetensors import SIZES, SafetensorsError
from .weight_files import INDEX, WEIGHTS, WeightFiles

MODELS = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")  # of SentencePiece


class Initial:
    """`place`: a directory with model.safetensors or its index, one of these files, or the directory of a run with an
    export."""

    def __init__(self, place):
        place = Path(place)
        self.directory = directory_of(place)
        indexed = place.name == INDEX or not (self.directory / WEIGHTS).is_file()
        try:
            self._weights = WeightFiles(self.directory, indexed)
        except OSError as error:
            raise bad(error.filename, error.strerror) from None
        except SafetensorsError as error:
            raise Ended(BAD_DATA, f"init_from: {error}") from None
        self._settings = read_json(self.directory / "config.json")
        self._form = export.FORMS.get(self._settings.get("model_type"))
        if self._form is None:
            raise bad(self.directory, f"a model of the type {self._settings.get('model_type')}; this trainer begins "
                                      f"with {', '.join(export.FORMS)}")
        for key, value in self._form.READABLE.items():
            if self._settings.get(key, value) != value:
                raise bad(self.directory, f"its config.json has {key}: {json.dumps(self._settings[key])}, and this "
                                          f"trainer knows {json.dumps(value)} alone")
        try:
            self.shape = self._form.shape_of(self._settings)
        except Unreadable as error:
            raise bad(self.directory, error) from None
        except (KeyError, TypeError, ValueError) as error:
            raise bad(self.directory, f"its config.json is not as this trainer reads it: {error!r}") from None
        for part in (part for part in fields(self.shape) if part.name in SHAPE):
            wrong = misfit(part, getattr(self.shape, part.name))
            if wrong or getattr(self.shape, part.name) is None:
                raise bad(self.directory, f"its config.json is not as this trainer reads it: {part.name} is "
                                          f"{getattr(self.shape, part.name)}")

    def adopt(self, config, given):
        """Returns the config with the shape of the directory. `given`: the keys of config.model that the job names."""
        if self.shape.classes and not registry.of(config).head:
            heads = registry.those(lambda one: one.head)
            raise bad(self.directory, f"its head is over labels, which {config.objective.name} does not learn; take "
                                      f"the model that it began with, or objective.name: {' or '.join(heads)}")
        decided = (*SHAPE, *SHAPE_OF_EXPERTS) if self.shape.experts else SHAPE
        for key in given:
            if key in decided and getattr(config.model, key) != getattr(self.shape, key):
                raise BadJob([f"config.model.{key}: {getattr(config.model, key)}, and the model of init_from "
                              f"({self.directory}) has {getattr(self.shape, key)}; leave it out"])
        return replace(config, model=replace(config.model, **{key: getattr(self.shape, key) for key in decided}))

    def check_tokenizer(self, pieces):
        """`pieces`: those of the tokenizer of the rows, as (text, score, type)."""
        theirs, file = self._pieces()
        for number, (text, _, _) in enumerate(pieces):
            if theirs.get(number) != text:
                there = f"the piece {theirs[number]!r}" if number in theirs else "no piece"
                raise Ended(BAD_DATA, f"{file}: has {there} for id {number}, and the tokenizer of the rows has "
                                      f"{text!r}; make the rows with the tokenizer of the model of init_from")

    def _pieces(self):
        """Returns ({id: piece}, the file that says so)."""
        file = next((self.directory / name for name in (*MODELS, "tokenizer.json", vocabulary.NAME)
                     if (self.directory / name).is_file()), None)
        if file is None:
            raise bad(self.directory, f"no tokenizer beside the model, so its ids have no known meaning; put its "
                                      f"{MODELS[0]}, tokenizer.json or {vocabulary.NAME} there")
        try:
            if file.name in (*MODELS, vocabulary.NAME):
                return {number: text for number, (text, _, _) in enumerate(vocabulary.pieces_of(file))}, file
            whole = read_json(file)
            vocab = whole["model"]["vocab"]
            known = ({number: entry[0] for number, entry in enumerate(vocab)} if isinstance(vocab, list)
                     else {number: text for text, number in vocab.items()})
            return known | {token["id"]: token["content"] for token in whole.get("added_tokens", ())}, file
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise bad(file, f"is no tokenizer of Hugging Face: {error}") from None
        except ValueError as error:  # no model of SentencePiece, or no UTF-8
            raise bad(file, error) from None

    @cached_property
    def digest(self):
        """As WeightFiles.digest."""
        try:
            return self._weights.digest()
        except OSError as error:
            raise bad(error.filename, error.strerror) from None

    @cached_property
    def _has_next_sentence(self):
        try:
            return self._form.has_next_sentence(self._weights.names())
        except (OSError, SafetensorsError) as error:
            raise Ended(BAD_DATA, f"init_from: {error}") from None

    def drawn(self, config, named):
        """Returns the parts that the seed draws beside the model of the directory, in words; empty: none."""
        if self.draws_head(config, named):
            return "a fresh head" + " behind its pooler" * self._has_next_sentence
        return "a fresh pooler" * (config.next_sentence and not self._has_next_sentence)

    def draws_head(self, config, named):
        """Whether the head over labels is a fresh one: that of the directory is about others than `named`, of the rows,
        or there is none."""
        names = tuple(self._settings.get("id2label", {}).values()) if self.shape.classes else None
        return config.classes is not None and not named.fit(names)

    def parameters(self, config, seed=0, named=None):
        """Returns the parameters of a complete config.Model that was adopted, as float32 arrays of numpy. A head over
        labels is that of the directory if it is about the same labels (`named`: of the rows), else a fresh one."""
        fresh = self.draws_head(config, named)
        theirs = replace(config, classes=self.shape.classes) if fresh else config
        try:
            theirs = replace(theirs, next_sentence=self._has_next_sentence)
            params = self._form.parameters_of(self._weights.read(), theirs)
        except (OSError, SafetensorsError) as error:
            raise Ended(BAD_DATA, f"init_from: {error}") from None
        except KeyError as error:
            raise bad(self._weights.path, f"has no tensor {error} of {', '.join(SIZES)}, which belongs to its "
                                          f"config.json") from None
        except ValueError as error:
            raise bad(self._weights.path, f"a tensor has another shape than config.json says: {error}") from None
        pooler = None
        if theirs.next_sentence and not config.next_sentence:
            pooler, params = params.pop("pooler"), self._form.of_one_segment(params)
        if fresh or config.next_sentence and not theirs.next_sentence:
            from ..model import bert  # it needs JAX, and a job is checked before
            if config.next_sentence:  # the type of the one segment is a part of the positions
                made = bert.fresh(bert.of_next_sentence, config, seed)
                params |= {**made, "types": np.zeros_like(made["types"])}
            else:
                params["readout"] = bert.fresh(bert.head_over_labels, config, seed)
            if fresh and pooler is not None:  # the layer in front of the head, as transformers takes it
                params["readout"] |= {name: pooler[name] for name in ("dense", "dense_bias")}
        if config.classes and not fresh:
            params = {**params, "readout": named.of_head(params["readout"], whole=False)}
        return self._cut(params, config)

    def _cut(self, params, config):
        """A table of positions is as long as the longest text of the model, and may be longer than rows."""
        positions = params.get("position_embed")
        if positions is None:
            return params
        if len(positions) < config.seq_len:
            raise BadJob([f"data: rows of {config.seq_len} ids, and the model of init_from ({self.directory}) has "
                          f"{len(positions)} positions; make shorter rows"])
        return {**params, "position_embed": np.ascontiguousarray(positions[:config.seq_len])}


def bad(where, why):
    return Ended(BAD_DATA, f"init_from: {where}: {why}")


def directory_of(place):
    if place.is_file():
        if place.name in (WEIGHTS, INDEX):
            return place.parent
        place = place.parent
    found = export.place_in(place)
    if found is not None or (place / INDEX).is_file():
        return found or place
    told = atomic.read_json(place / "config.json") or {}  # the config of a run of ours, if it is one
    if isinstance(told.get("model"), dict) and told["model"].get("experts"):
        if not (place / "result.json").is_file():
            raise bad(place, "its training has not ended; `pipe run FILE` goes on with it")
        raise bad(place, "its training has ended without an export; give its stage `export: true`, or remove its "
                         "result.json if the stage has that, and run its pipeline")
    if list(place.glob("model*.safetensors")):
        raise bad(place, f"its weights are in several files without {INDEX}; copy that file, too")
    if list(place.glob("*.bin")):
        raise bad(place, f"its weights are not in {WEIGHTS}; save the model again with safe_serialization=True")
    raise bad(place, f"there is no {WEIGHTS}, nor export/{WEIGHTS}")


def read_json(path):
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise bad(path, error.strerror) from None
    except (ValueError, RecursionError) as error:
        raise bad(path, f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise bad(path, "is no object of JSON")
    return value
