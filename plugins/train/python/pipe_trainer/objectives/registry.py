"""The objectives by name, in the order of the key `objective.name`, and the checks that ask all of them."""

from .causal import Causal
from .classes import Classes
from .masked import Masked
from .next_sentence import NextSentence
from .objective import BY_CLASS, BY_NUMBER
from .regression import Regression
from .spans import Prefix, Spans

OBJECTIVES = {one.name: one for one in (Causal, Masked, NextSentence, Spans, Prefix, Classes, Regression)}
METRICS = {**BY_CLASS.metrics, **BY_NUMBER.metrics}
BESIDE = tuple(name for one in OBJECTIVES.values() for name in one.beside)
LOGGED = (*BY_CLASS.logged, *BY_NUMBER.logged)
FALLING = ("loss", *BY_CLASS.falling, *BY_NUMBER.falling)  # a smaller one is better


def of(config, rows=None, pieces=()):
    """Returns the objective of a config; the arguments are those of Objective."""
    return OBJECTIVES[config.objective.name](config, rows, pieces)


def those(wanted):
    """Returns the names of the objectives that `wanted` holds for."""
    return [name for name, one in OBJECTIVES.items() if wanted(one)]


def learned_by(family):
    return those(lambda one: family in one.families)


def implied(model):
    """Returns an objective that makes such a model: that of one whose export does not name it."""
    if model.classes:
        return OBJECTIVES["regression" if model.classes == 1 else "classes"]
    return next(one for one in OBJECTIVES.values() if model.family in one.families)


def mistakes(config):
    """Yields disagreements of the objective with other keys."""
    model, chosen = config.model, of(config)
    if model.classes and not chosen.takes_classes(model.classes):
        yield "config.model.classes: a head over labels is for objective.name: classes; leave it out"
    if model.next_sentence and not chosen.sentence_pairs:
        yield "config.model.next_sentence: is for objective.name: next_sentence; leave it out"
    for kind in (BY_CLASS, BY_NUMBER):
        if config.eval.metric in kind.metrics and chosen.answering is not kind:
            able = those(lambda one, kind=kind: one.answering is kind)
            yield (f"config.eval.metric: {config.eval.metric} is about {kind.kind}, which {chosen.name} does not "
                   f"answer; it is for {', '.join(able)}")
    yield from chosen.mistakes()
    if model.family not in chosen.families:
        yield (f"config.objective.name: a model of family {model.family} learns "
               f"{', '.join(learned_by(model.family))}; {chosen.name} is for {', '.join(chosen.families)}")
    for one in OBJECTIVES.values():
        yield from one.mistakes_of_keys(config.objective)


def mistakes_of_ids(options, vocab):
    """Yields the keys of config.objective with ids that no model with this vocabulary has."""
    known = {}
    for one in OBJECTIVES.values():
        known |= one.most_ids(options, vocab)
    for key, most in known.items():
        value = getattr(options, key)
        if value is not None and value > most:
            yield (f"config.objective.{key}: {value}, and the tokenizer has {vocab} ids; leave it out, or name one of "
                   f"them")
