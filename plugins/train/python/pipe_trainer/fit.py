"""python -m pipe_trainer.fit FILE: whether a model fits a slice of TPUs that need not be there, and how.

FILE is JSON: a job, whose rows have their length, or {"config": …, "seq_len": …, "vocab": …}.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from . import exits
from .atomic import read_json, write_json
from .config import is_a
from .export import initial
from .objectives import registry
from .run import candidates, compiled, job, search, slices
from .run.memory import GIB

# Shares of the published peak that training reached: the seed's 0.1b on v3-8, small models on v6e. The others have
# SHARE, which the scaling book calls reasonable.
SHARES = {"v2": 0.34, "v3": 0.34, "v6e": 0.25}
SHARE = 0.40
# Of a step, however small: a dispatch, the wait for the first bytes of its exchanges, rows that come from the host.
LEAST_SECONDS = 0.002
# The arithmetic of a device in a step, from which on such a share was measured; smaller steps mostly wait.
MEASURED_TFLOP = 0.5
NOT_FITTING = 1


def options_of(argv):
    parser = argparse.ArgumentParser(prog="pipe_trainer.fit", description=__doc__.split("\n", maxsplit=1)[0],
                                     allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="a job, or a question; - is standard input")
    parser.add_argument("--on", metavar="SLICE,...", help="v3-8, v5e-4, 2xv5e-16 …; the devices here by default")
    parser.add_argument("--price", type=price, metavar="PER_HOUR", help="of the slice, in any currency")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="JSON that gets the answers, beside those in it")
    parser.add_argument("--mark", default="", help="kept with each answer: whose figures these are")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each slice instead of text")
    return parser.parse_args(argv)


def price(text):
    value = float(text)
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text}: is no price")
    return value


def question(path):
    """Returns (config with the shape of the rows, steps or None)."""
    raw = job.loaded(path)
    if isinstance(raw, dict) and "pipe_job" in raw:
        return of_job(job.parse(raw))
    if not isinstance(raw, dict):
        raise exits.BadJob([f"{path}: is neither a job nor a question; see pipe_trainer.fit --help"])
    mistakes = job.unknown(raw, ["config", "seq_len", "vocab", "steps"], "question")
    for name, low, high in (("seq_len", 1, 1 << 24), ("vocab", 2, (1 << 31) - 1), ("steps", 1, 1 << 62)):
        value = raw.get(name)
        if not (is_a(value, int) and low <= value <= high) and not (name == "steps" and value is None):
            mistakes.append(f"question.{name}: wants a whole number from {low}, and is {job.show(value)}")
    config = job.parse_config(raw.get("config") or {}, mistakes)
    model = config.model
    if not mistakes and model.vocab is not None and model.vocab < raw["vocab"]:
        mistakes.append(f"config.model.vocab: {model.vocab}, and the tokenizer has {raw['vocab']} ids")
    if not mistakes and model.seq_len not in (None, raw["seq_len"]):
        mistakes.append(f"config.model.seq_len: {model.seq_len}, and the rows have {raw['seq_len']}")
    if mistakes:
        raise exits.BadJob(mistakes)
    return shaped(config, raw["seq_len"], raw["vocab"]), raw.get("steps")


def of_job(found):
    from .data.open_rows import info_of
    rows = info_of(found.data["dir"])
    config = found.config
    if found.init_from:
        config = initial.Initial(found.init_from).adopt(config, found.shape_keys)
        mistakes = list(job.disagreements_of_lora(config))
        if mistakes:
            raise exits.BadJob(mistakes)
    return shaped(config, rows.seq_len, rows.tokenizer["vocab_size"]), found.steps


def shaped(config, seq_len, vocab):
    config, needed = registry.of(config).completed(vocab)  # as if the tokenizer had no piece for hidden ids
    return replace(config, model=replace(config.model, seq_len=seq_len, vocab=config.model.vocab or needed).complete())


def answer(config, slice_, measure=compiled.elsewhere):
    """Returns everything that is known of a config on a slice, for JSON."""
    found = search.walk(config, slice_.devices, slice_.bytes,
                        lambda candidate: measure(candidate.of(config), slice_), slice_.slices)
    known = {"slice": slice_.name, "devices": slice_.devices, "hosts": slice_.hosts,
             "usable_gib": slice_.bytes / GIB, "params_m": round(candidates.count(config.model) / 1e6, 1),
             "seq_len": config.model.seq_len, "vocab": config.model.vocab, "rows": config.batch.rows,
             "programs": len(found.figures), "seconds": round(sum(figure.seconds for _, figure in found.tried), 1),
             "versions": search.versions(), "tried": [tried(*pair) for pair in found.tried]}
    if not found.rungs:
        return {**known, "fits": False, "why": f"{config.batch.rows} rows do not come out even over {slice_.devices} "
                                               f"devices; take a multiple of that for batch.rows"}
    if found.best is None:
        why = str(search.refusal(config, found, slice_.name, slice_))
        holder = candidates.smallest(config, search.larger(slice_, slices.every()))
        return {**known, "fits": False, "why": why, "holds": holder and holder.name}
    candidate, figure = found.rungs[found.best], found.figures[found.best]
    whole, _ = candidates.operations(config)
    peak, share = slices.GENERATIONS[slice_.generation].tflops, SHARES.get(slice_.generation, SHARE)
    seconds = max(candidates.seconds(config, candidate, peak, share), LEAST_SECONDS)
    return {**known, "fits": True, "choice": candidate.shown(), "shown": str(candidate), **figure.shown(),
            "step_tflop": whole / 1e12, "device_tflop": whole / 1e12 / slice_.devices, "peak_tflops": peak,
            "share": share, "step_seconds": seconds, "extrapolated": extrapolated(slice_, whole, seconds),
            "tokens_per_s": config.batch.rows * config.model.seq_len / seconds}


def extrapolated(slice_, operations, seconds):
    """Returns why no measurement stands behind a time; empty: one does."""
    if seconds <= LEAST_SECONDS:
        return f"no step takes less than {LEAST_SECONDS:g} s"
    if operations / 1e12 / slice_.devices < MEASURED_TFLOP:
        return f"no step below {MEASURED_TFLOP:g} TFLOP a device was measured, and small ones are slower"
    return "" if slice_.generation in SHARES else f"nothing was measured on {slice_.generation}"


def tried(candidate, figure):
    return {"candidate": str(candidate), **figure.shown(),
            **({"error": figure.error} if figure.error else {})}


def text_of(found, steps, per_hour):
    """Returns an answer as text for people."""
    lines = [f"{found['slice']} ({found['devices']} devices on {found['hosts']} machine{'s' * (found['hosts'] > 1)}, "
             f"{found['usable_gib']:.2f} GiB each): {found['params_m']} M parameters, {found['rows']} rows of "
             f"{found['seq_len']} ids a step"]

    def line(name, text):
        lines.append(f"  {name:<12}{text}")
    if not found["fits"]:
        line("does not fit", found["why"])
        return "\n".join(lines)
    line("choice", found["shown"])
    line("memory", f"{found['peak_gib']:.2f} of {found['usable_gib']:.2f} GiB a device: {found['arguments_gib']:.2f} "
                   f"arguments, {found['temporaries_gib']:.2f} temporaries")
    line("arithmetic", f"{found['step_tflop']:.1f} TFLOP a step, {found['device_tflop']:.1f} a device")
    several, hours = slices.parse(found["slice"]).slices > 1, found["step_seconds"] / 3600
    line("time", f"about {found['step_seconds']:.2g} s a step, {found['tokens_per_s']:,.0f} tokens/s, if it reaches "
                 f"{found['share']:.0%} of the published {found['peak_tflops']:g} TFLOP/s a device"
                 + ", without the network between the slices" * several
                 + f" (extrapolated: {found['extrapolated']})" * bool(found["extrapolated"]))
    if steps:
        line("run", f"about {steps * hours:,.1f} h for {steps:,} steps, without evaluations and checkpoints")
    if per_hour is not None:
        line("cost", f"about {per_hour * (steps or 1000) * hours:,.2f} for {steps or 1000:,} steps, at "
                     f"{per_hour:g} an hour")
    others = [one for one in found["tried"] if one["candidate"] != found["shown"]]
    for one in others:
        found_out = one.get("error") or f"{one['peak_gib']:.2f} GiB"
        line("also tried", f"{one['candidate']}: {found_out}")
    line("compiled", f"{found['programs']} program{'s' * (found['programs'] > 1)} in {found['seconds']:.0f} s by "
                     + ", ".join(f"{name} {value}" for name, value in found["versions"].items() if name != "step"))
    return "\n".join(lines)


def keep(path, mark, found):
    """Keeps an answer for `pipe run -n`, which compiles nothing."""
    kept = read_json(path) or {}
    answers = kept.get("answers", {}) if kept.get("mark") == mark else {}
    said = (f"fits {found['slice']}: {found['peak_gib']:.2f} of {found['usable_gib']:.2f} GiB a device, with "
            f"{found['shown']}" if found["fits"] else f"does not fit {found['slice']}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"mark": mark, "answers": {**answers, found["slice"]: said}}, indent=1)


def here():
    """Returns the slice of the devices of this machine."""
    import jax
    devices = jax.devices()
    found = slices.of_devices(devices[0].device_kind, len(devices))
    if found is None:
        raise exits.BadJob([f"there are {len(devices)} devices of kind {devices[0].device_kind} here, which are no "
                            f"slice of TPUs; name one: --on v3-8"])
    return found


def main(argv):
    try:
        options = options_of(argv)
    except SystemExit as error:
        return exits.BAD_JOB if error.code else exits.DONE
    unfit = []
    try:
        config, steps = question(options.file)
        asked = [slices.parse(name) for name in options.on.split(",")] if options.on else [here()]
        for slice_ in asked:
            found = answer(config, slice_)
            unfit += [] if found["fits"] else [slice_.name]
            print(json.dumps(found) if options.json else text_of(found, steps, options.price), flush=True)
            if options.keep:
                keep(options.keep, options.mark, found)
    except exits.Ended as error:
        print(f"pipe_trainer.fit: {error}", file=sys.stderr)
        return error.code
    except compiled.NoTopology as error:
        print(f"pipe_trainer.fit: {error}; libtpu compiles for it: pipe trainer setup --dir .pipe/trainer-tpu "
              f"--extra tpu", file=sys.stderr)
        return exits.ENVIRONMENT
    if unfit:
        print(f"it does not fit {', '.join(unfit)}", file=sys.stderr)
    return NOT_FITTING if unfit else exits.DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
