#!/usr/bin/env python3
"""Which preset fits which slice of TPUs, compiled ahead of time: the page plugins/train/tpu_fit.md.

    tpu_fit.py --kept FILE --page FILE [--minutes N] [--seed N] [--only PRESET/SLICE/SEQ_LEN]

Needs a Python with requirements-tpu.txt, and pipe_trainer in PYTHONPATH. Each answer becomes a line of JSON in the kept
file, by preset, slice, length of rows and versions, and is not computed again. Where only the trainer's modules differ,
an answer stays if its program, before the compiler, is still the same; the page names those that were not compared yet.
Several of these programs may add to one file at a time. At the end a tenth of the answers, chosen by the seed, is
compiled again: a choice must give the same figures.
"""

import argparse
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pipe_trainer import fit
from pipe_trainer.atomic import write_text
from pipe_trainer.config import PRESETS
from pipe_trainer.run import candidates, compiled, job, search, slices

# The most useful first, in case the table is cut short.
SLICES = ("v3-8", "v2-8", "v5e-8", "v4-8", "v6e-8", "v2-32", "v5e-4", "v5e-1", "v3-32", "v4-32", "v5e-16", "v5e-64",
          "v5p-8", "v6e-1", "v6e-4")
# Presets that are not decoders have the lengths of their guides and of pipelines/: their models read no longer rows.
LENGTHS = {"bert-base": (128, 512), "jestimator": (512,), "t5-small": (512,), "t5-base": (512,), "kc-moe": (512,),
           "tiny-masked": (512,), "tiny-spans": (512,)}
OF_DECODERS = (1024, 4096)
ORDER = ("ja-0.1b", "ja-1b", "bert-base", "jestimator", "t5-base", "t5-small", "kc-moe", "lm1b", "tiny", "ja-3b",
         "ja-7b", "quickstart")
VOCAB = 32000
CLOSE = 0.01  # allowed difference, as a share of a figure: libtpu compiles with threads


@dataclass(frozen=True)
class Case:
    preset: str
    slice: str
    seq_len: int

    def __str__(self):
        return f"{self.preset}/{self.slice}/{self.seq_len}"

    def config(self):
        mistakes = []
        config = job.parse_config({"preset": self.preset}, mistakes)
        if mistakes:
            raise SystemExit(f"tpu_fit.py: {mistakes}")
        return fit.shaped(config, self.seq_len, VOCAB)


def cases():
    """Returns all cases: first the shorter rows, with the presets in ORDER first, each on every slice."""
    presets = [*ORDER, *(name for name in PRESETS if name not in ORDER)]
    found = [(length, preset) for preset in presets for length in LENGTHS.get(preset, OF_DECODERS)]
    return [Case(preset, name, length) for length, preset in sorted(found, key=lambda one: one[0]) for name in SLICES]


def by_use(earlier):
    """Returns all cases in the order of their work: those without an answer first, and of these the first slices. An
    earlier answer is only compared."""
    return sorted(cases(), key=lambda case: (case in earlier, SLICES.index(case.slice)))


# Members of an answer that the table and its check use.
MEMBERS = ("fits", "choice", "shown", "peak_gib", "arguments_gib", "temporaries_gib", "usable_gib", "step_tflop",
           "holds", "why", "programs", "seconds", "least_gib", "digest")
STEP = "step"  # the version that is a digest of the trainer's modules


class Kept:
    """The kept file. Only answers of these versions count; a line that a kill cut counts as absent."""

    def __init__(self, path):
        self._path, self._versions = path, search.versions()

    def read(self):
        """Returns {case: answer} of these versions."""
        return self._answers(lambda versions: versions == self._versions)

    def earlier(self):
        """Returns {case: answer} of other modules of the trainer and the same compiler."""
        return self._answers(lambda versions: versions != self._versions
                             and {**versions, STEP: ""} == {**self._versions, STEP: ""})

    def _answers(self, wanted):
        found = {}
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        for line in lines:
            try:
                answer = json.loads(line)
                if wanted(answer.pop("versions")):
                    found[Case(**answer.pop("case"))] = answer
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        return found

    def add(self, case, found):
        kept = {name: found[name] for name in MEMBERS if name in found}
        line = json.dumps({"case": vars(case), "versions": self._versions, **kept}, ensure_ascii=False)
        # A kill may have left half a line at the end: this one must not become a part of it.
        torn = self._path.exists() and not self._path.read_bytes().endswith(b"\n") and self._path.stat().st_size > 0
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" * torn + line + "\n")


def chosen(case, found):
    """Returns the config with the choice of an answer; of one that does not fit, with the smallest candidate."""
    config, slice_ = case.config(), slices.parse(case.slice)
    if not found["fits"]:
        rungs = candidates.ladder(config, slice_.devices)
        return rungs[-1].of(config) if rungs else None
    choice = found["choice"]
    return candidates.Candidate(choice["batch.micro"], choice["model.remat"], **choice["mesh"]).of(config)


def digest(case, found):
    """Returns the digest of the program of an answer; None if there is no program."""
    config = chosen(case, found)
    return compiled.ask(config, slices.parse(case.slice), digest=True).get("digest") if config else None


def answer(case, earlier):
    """Returns the earlier answer if its program is the same, else a new one."""
    if earlier and earlier.get("digest") and earlier["digest"] == digest(case, earlier):
        return earlier
    found = fit.answer(case.config(), slices.parse(case.slice))
    least_of_all = min((one["peak_gib"] for one in found["tried"] if "peak_gib" in one), default=None)
    return {**found, "least_gib": least_of_all, "digest": digest(case, found)}


def same(case, found):
    """Compiles the choice of an answer again. Returns why it differs, or None."""
    figure = compiled.elsewhere(chosen(case, found), slices.parse(case.slice))
    shown = figure.shown()
    for name in ("peak_gib", "arguments_gib", "temporaries_gib"):
        if name not in shown or abs(shown[name] - found[name]) > CLOSE * found[name]:
            return f"{case}: {name} was {found[name]} and is {shown.get(name, figure.error)}"
    return None


def page(answers, missing, checked, uncompared):
    """`uncompared`: cases whose answer comes from other modules of the trainer."""
    versions = search.versions()
    lines = ["# Which preset fits which slice of TPUs", "",
             "Made by `./dev tpu-fit`: libtpu compiles a step ahead of time for chips that are not here, and tells the memory "
             "that it takes",
             "on each device. So a row says that a model starts and fits, and how; not how fast it is. A vocabulary of "
             f"{VOCAB:,}, the preset's `batch.rows`;",
             "`auto` chose micro-batches, recomputation and mesh. By " + ", ".join(
                 f"{name} {value}" for name, value in versions.items()) + ".", "",
             "| preset | slice | rows of | choice | GiB a device | of | arguments | temporaries | TFLOP a step | |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for case, found in answers:
        start = f"| {case.preset} | {case.slice} | {case.seq_len:,} |"
        if found["fits"]:
            lines.append(f"{start} {found['shown']} | {found['peak_gib']:.2f} | {found['usable_gib']:.2f} | "
                         f"{found['arguments_gib']:.2f} | {found['temporaries_gib']:.2f} | "
                         f"{found['step_tflop']:,.0f} | fits |")
        else:
            holds = found.get("holds")
            held = f"by estimate {holds} holds it" if holds else "no slice holds it"
            lines.append(f"{start} - | {least(found)} | {found['usable_gib']:.2f} | - | - | - | "
                         f"{held if least(found) != '-' else found['why']} |")
    lines += ["", "A slice that does not fit has the least that was tried in the fifth column."]
    if checked:
        lines.append(f"Compiled again, and the same: {', '.join(checked)}.")
    whole = len(missing) + len(answers)
    if uncompared:
        lines += ["", f"Made with other modules of the trainer, {len(uncompared)} of {whole}; `./dev tpu-fit` compares "
                      f"their programs with those of the present ones:", "", *listed(uncompared)]
    if missing:
        lines += ["", f"Not made yet, {len(missing)} of {whole}; `./dev tpu-fit` goes on with them:", ""]
        lines += listed(missing)
    return "\n".join(lines) + "\n"


def listed(these):
    """Yields a line for each preset and length of these cases."""
    for preset, length in dict.fromkeys((case.preset, case.seq_len) for case in these):
        names = [case.slice for case in these if (case.preset, case.seq_len) == (preset, length)]
        yield f"* {preset}, rows of {length:,}: {'every slice' if len(names) == len(SLICES) else ', '.join(names)}"


def least(found):
    return f"{found['least_gib']:.2f}" if found["least_gib"] else "-"


def options_of(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60, help="after which no further case is begun")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases that begin so, such as ja-0.1b/v3-8")
    parser.add_argument("--no-check", action="store_true", help="a part of a longer run")
    return parser.parse_args(argv)


def main(argv):
    options = options_of(argv)
    kept, until = Kept(options.kept), time.monotonic() + 60 * options.minutes
    earlier = kept.earlier()
    for case in by_use(earlier):
        if not str(case).startswith(options.only) or case in kept.read() or time.monotonic() > until:
            continue
        found = answer(case, earlier.get(case))
        tried = found.get("tried", [])  # absent: an earlier answer
        if any("compiler could not be started" in one.get("error", "") for one in tried):
            raise SystemExit(f"tpu_fit.py: {tried}")
        died = [one["error"] for one in tried if one.get("error", "").startswith("the compiler ")]
        if died:  # because others took time or memory
            print(f"{case}: not kept, it may come out otherwise on an idle machine: {died[0]}", file=sys.stderr)
            continue
        kept.add(case, found)
        made = f"{found['programs']} programs in {found['seconds']:.0f} s" if tried else "the program is the same"
        print(f"{case}: {found.get('shown', 'does not fit')}, {found.get('peak_gib', 'more')} of "
              f"{found['usable_gib']} GiB, {made}", flush=True)
    present = kept.read()
    known = {**earlier, **present}
    answers = [(case, known.get(case)) for case in cases()]
    there = [(case, found) for case, found in answers if found]
    fitting = [(case, found) for case, found in there if found["fits"] and case in present]
    again = [] if options.no_check else random.Random(options.seed).sample(fitting, -(-len(fitting) // 10))
    wrong = [why for why in (same(*pair) for pair in again) if why]
    write_text(options.page, page(there, [case for case, found in answers if not found],
                                  [str(case) for case, _ in again] if not wrong else [],
                                  [case for case, _ in there if case not in present]))
    print(f"{options.page}: {len(there)} of {len(answers)} cases; {len(again)} compiled again (seed {options.seed})")
    for why in wrong:
        print(f"tpu_fit.py: {why}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
