"""The job of a run: a JSON file that the plugin writes, checked as a whole before anything starts."""

import difflib
import json
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from ..config import AUTO, CHOSEN, OWN_DEFAULTS, PRESETS, READ_KEYS, SECTIONS, Config, Export, is_a, misfit
from ..exits import BadJob
from ..model import families
from ..objectives import registry

MOST_TRACED = 100  # steps: a trace has every operation of each
LEAST = {"seed": 0, "steps": 1, "log_every": 1, "eval_every": 0, "checkpoint_every": 1, "keep_checkpoints": 1,
         "threads": 0, "steps_before": 0}  # of whole numbers


@dataclass(frozen=True)
class Job:
    run_dir: Path
    config: Config
    results: Path                 # for result.json, config.json and export/; not given: the run directory
    name: str = "train"
    recipe: str = ""
    data: dict = field(default_factory=dict)       # dir, train, validation
    tokenizer: dict = field(default_factory=dict)  # model, digest, vocab_size
    seed: int = 0
    steps: int = 1000
    log_every: int = 50
    eval_every: int = 500         # 0: only at the end
    checkpoint_every: int = 500
    keep_checkpoints: int = 3
    keep_best: bool = False
    early_stop: dict = field(default_factory=dict)  # patience, min_delta; {}: never
    profile: dict = field(default_factory=dict)     # step, steps: of `trace`; {}: none
    steps_before: int = 0         # of an earlier job in this run directory; 0: unknown
    prompts: tuple = ()
    export: bool = True
    init_from: str = ""           # of initial.Initial; "": fresh parameters
    shape_keys: tuple = ()        # keys of config.model that the job names
    threads: int = 0              # 0: all
    lineage: dict = field(default_factory=dict)


def loaded(path):
    """Returns the JSON of a file; of standard input for `-`."""
    try:
        return json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadJob([f"{path}: {error.strerror}"]) from None
    except (ValueError, RecursionError) as error:
        raise BadJob([f"{path}: is not JSON: {error}"]) from None


def read(path, settings=()):
    """Reads a job and applies the settings `a.b=c`. Raises BadJob with every mistake at once."""
    raw = loaded(path)
    mistakes = []
    if isinstance(raw, dict):
        for setting in settings:
            mistakes += set_one(raw, setting)
    return parse(raw, mistakes)


def set_one(raw, setting):
    """Applies a setting: `steps=10` and the like change the job, `preset=…` and `section.key=value` its config. Returns
    the mistakes."""
    name, equals, text = setting.partition("=")
    path = name.split(".")
    if not equals or not all(path):
        return [f"--set {setting}: has the form a.b=c"]
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    place = raw if len(path) == 1 and path[0] != "preset" else raw.setdefault("config", {})
    for key in path[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        return [f"--set {setting}: what it is a part of is no map"]
    place[path[-1]] = value
    return []


def parse(raw, mistakes=()):
    mistakes = list(mistakes)
    if not isinstance(raw, dict) or raw.get("pipe_job") != 1:
        raise BadJob(["job: has no pipe_job: 1; it was written for another trainer"])
    raw = {key: value for key, value in raw.items() if value is not None}
    known = [part.name for part in fields(Job) if part.name != "shape_keys"]
    mistakes += unknown(raw, [*known, "pipe_job"], "job")
    values = {key: raw[key] for key in known if key in raw and key != "config"}
    for key, low in LEAST.items():
        if key in values and (not is_a(values[key], int) or values[key] < low):
            mistakes.append(f"job.{key}: wants a whole number of at least {low}, and is {show(values[key])}")
    for key, wanted in (("data", ("dir", "train", "validation")), ("tokenizer", ())):
        part = values.get(key, {})
        if not isinstance(part, dict):
            mistakes.append(f"job.{key}: wants a map, and is {show(part)}")
        else:
            mistakes += [f"job.{key}.{name}: wants a text" for name in wanted if not isinstance(part.get(name), str)]
    prompts = values.get("prompts", [])
    if not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
        mistakes.append("job.prompts: wants a list of texts")
    for key in ("export", "keep_best"):
        if not isinstance(values.get(key, True), bool):
            mistakes.append(f"job.{key}: wants true or false, and is {show(values[key])}")
    if not isinstance(values.get("init_from", ""), str):
        mistakes.append(f"job.init_from: wants a path, and is {show(values['init_from'])}")
    for key in ("run_dir", "results"):
        if not isinstance(raw.get(key, raw.get("run_dir")), str):
            mistakes.append(f"job.{key}: wants a directory")
    config = parse_config(raw.get("config", {}), mistakes, bool(values.get("init_from")))
    mistakes += early_stop_mistakes(values, config.eval.each_epoch)
    mistakes += profile_mistakes(values)
    mistakes += pruning_mistakes(config, values)
    if values.get("export") is False and config.export != Export():
        mistakes.append("config.export: has keys, and job.export is false; leave one of them out")
    if config.lora.rank and not values.get("init_from"):
        mistakes.append(f"config.lora.rank: {config.lora.rank}, and there is no model for the adapters; name it as the "
                        f"input init_from, or leave lora out")
    if mistakes:
        raise BadJob(mistakes)
    shape = raw.get("config", {}).get("model") or {}
    values.update(run_dir=Path(raw["run_dir"]), results=Path(raw.get("results", raw["run_dir"])),
                  prompts=tuple(prompts), config=config,
                  shape_keys=tuple(key for key, value in shape.items() if value is not None))
    return Job(**values)


def early_stop_mistakes(values, each_epoch):
    rule = values.get("early_stop", {})
    if not isinstance(rule, dict):
        yield f"job.early_stop: wants a map such as {{\"patience\": 5}}, and is {show(rule)}"
    elif rule:
        yield from unknown(rule, ("patience", "min_delta"), "job.early_stop")
        if not is_a(rule.get("patience"), int) or rule["patience"] < 1:
            yield (f"job.early_stop.patience: wants a whole number of evaluations, at least 1, and is "
                   f"{show(rule.get('patience'))}")
        if not is_a(rule.get("min_delta", 0), float) or rule.get("min_delta", 0) < 0:
            yield f"job.early_stop.min_delta: wants a number of at least 0, and is {show(rule['min_delta'])}"
        if values.get("eval_every") == 0 and not each_epoch:
            yield ("job.early_stop: judges evaluations, and with eval_every: 0 there is only the last; say eval_every, "
                   "or config.eval.each_epoch")


def profile_mistakes(values):
    asked = values.get("profile", {})
    if not isinstance(asked, dict):
        yield f"job.profile: wants a map such as {{\"step\": 100, \"steps\": 3}}, and is {show(asked)}"
    elif asked:
        yield from unknown(asked, ("step", "steps"), "job.profile")
        for key, most in (("step", values.get("steps", Job.steps)), ("steps", MOST_TRACED)):
            if not is_a(asked.get(key), int) or not is_a(most, int) or not 1 <= asked[key] <= most:
                yield (f"job.profile.{key}: wants a whole number from 1 to {show(most)}, and is "
                       f"{show(asked.get(key))}")


def pruning_mistakes(config, values):
    keys, steps = config.pruning, values.get("steps", Job.steps)
    if not keys.share:
        return
    if config.lora.rank:
        yield "config.pruning.share: adapters leave the weights as they are; leave out one of pruning and lora"
    for key in ("keep_best", "early_stop"):
        if values.get(key):
            yield (f"job.{key}: judges evaluations from before the last pruning, too, which are better; leave out one "
                   f"of pruning and {key}")
    begin, end = keys.span(steps) if is_a(steps, int) else (0, 1)
    if is_a(steps, int) and not begin < end < steps:
        yield (f"config.pruning: begins after {begin} of {steps} steps and ends after {end}; take a begin before the "
               f"end, and an end before the last step")


def parse_config(raw, mistakes, adopts=False):
    """`adopts`: the family and the experts are those of another model, which is not known yet."""
    if not isinstance(raw, dict):
        mistakes.append(f"config: wants a map, and is {show(raw)}")
        return Config()
    mistakes += unknown(raw, [*SECTIONS, "preset"], "config")
    name = raw.get("preset", "tiny")
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is None:
        mistakes.append(f"config.preset: {show(name)}{meant(name, PRESETS)}; there are {', '.join(PRESETS)}")
    sections, auto = {}, []
    for section, kind in SECTIONS.items():
        given = raw.get(section) or {}
        if section == "mesh" and given in ({}, AUTO):
            given = dict.fromkeys(CHOSEN["mesh"], AUTO)
        if not isinstance(given, dict):
            mistakes.append(f"config.{section}: wants a map, and is {show(given)}")
            given = {}
        bounds = {part.name: part for part in fields(kind)}
        mistakes += unknown(given, bounds, f"config.{section}")
        values = dict((preset or {}).get(section, {}))
        if section == "lora" and given and "rank" not in given:
            mistakes.append(f"config.lora.{next(iter(given))}: is read with a rank alone; say lora.rank, or leave lora "
                            f"out")
        if section == "optimizer":
            name = given.get("name", values.get("name", "adamw"))
            values |= OWN_DEFAULTS.get(name, {}) if isinstance(name, str) else {}
            mistakes += unread(name, given)
        whole = section == "mesh"  # an axis that is given decides about the others: they are not `auto`
        for key in CHOSEN[section]:
            if given.get(key, None if whole else AUTO) == AUTO:
                auto.append((section, key))
        for key in (key for key in given if key in bounds and (section, key) not in auto):
            wrong = misfit(bounds[key], given[key])
            if wrong:
                mistakes.append(f"config.{section}.{key}: {wrong}, and is {show(given[key])}"
                                + meant(given[key], bounds[key].metadata.get("choices", ())))
            else:
                values[key] = float(given[key]) if bounds[key].type is float else given[key]
        sections[section] = kind(**values)
    config = Config(**sections, auto=tuple(auto))
    mistakes += config.model.complete().disagreements_of_sizes() if adopts else every_disagreement(config)
    return replace(config, model=config.model.complete())


def unread(optimizer, given):
    """Yields the keys of other optimisers."""
    if not isinstance(optimizer, str) or optimizer not in READ_KEYS:
        return
    read, all_ = READ_KEYS[optimizer], {key for keys in READ_KEYS.values() for key in keys}
    for key in given:
        if key in all_ and key not in read:
            yield (f"config.optimizer.{key}: {optimizer} does not read it; leave it out, or take one of lr, clip, "
                   f"{', '.join(read)}")


def every_disagreement(config):
    return [*config.model.complete().disagreements(), *registry.mistakes(config), *disagreements_of_export(config),
            *disagreements_of_lora(config)]


def disagreements_of_export(config):
    for key, program in (("prune", "transformers"), ("int8", "transformers"), ("gguf", "llama.cpp")):
        if getattr(config.export, key) != getattr(Export(), key) and program not in config.model.exports:
            others = [name for name, known in families.FAMILIES.items() if program in known.exports]
            yield (f"config.export.{key}: {program} has no counterpart of family {config.model.family}"
                   f"{config.model.additions}; leave it out, or take one of {', '.join(others)}")


def disagreements_of_lora(config):
    lora, known = config.lora, families.matrices(config.model.complete())
    if not lora.rank:
        return
    for name in lora.targets:
        if name not in known:
            yield (f"config.lora.targets: a model of family {config.model.family} has no matrix {show(name)}"
                   f"{meant(name, known)}; there are {', '.join(known)}")
        elif lora.rank > min(known[name]):
            yield (f"config.lora.rank: {lora.rank} is more than {name} has, which is {known[name][0]} x "
                   f"{known[name][1]}; take at most {min(known[name])}, or leave it out of lora.targets")
    if config.optimizer.name == "amos":
        yield ("config.optimizer.name: amos leads a matrix to a scale that it expects, which an adapter does not have; "
               "take adamw, adafactor or muon")


def unknown(given, known, where):
    return [f"{where}.{key}: there is no such key{meant(key, known)}" for key in given if key not in known]


def meant(word, known):
    near = difflib.get_close_matches(str(word), [str(name) for name in known], 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def show(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 60 else text[:57] + "..."

