#!/usr/bin/env python3
"""The report of a real run in a real browser: no script error, nothing from the text is executed, light and dark.

    report.py PIPE SCREENSHOTS

Leaves SCREENSHOTS/{light,dark,phone}.png for people to look at. Needs Debian's chromium.
"""

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from full_line import sentences
from pipe_run import Run, corpus, fail

PIPELINE = """
pipe: 1
name: tiny
vars: {{ out: nowhere, api_token: none }}
limits: {{ memory: 1GiB }}
stages:
  source: {{ type: download, url: "{corpus}" }}
  lines: {{ type: decompress, input: source, partition: 256KiB }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  good: {{ type: filter, input: clean, min_chars: 6, urls: [0, 0.5], max_run: 30 }}
  docs: {{ type: split, input: good, splits: {{ train: rest, validation: 0.1 }} }}
  pick: {{ type: sample, input: docs, split: train, bytes: 600KB }}
  words: {{ type: segment_words, input: pick, dictionary: ipadic }}
  tokenizer: {{ type: train_tokenizer, input: words, vocab_size: 1400, character_coverage: 0.98, byte_fallback: true,
                out: "${{out}}/tokenizer" }}
  tokens: {{ type: encode, input: docs, tokenizer: tokenizer }}
  packed: {{ type: write_packed, input: tokens, seq_len: 64, shards: 3, out: "${{out}}/packed" }}
  text: {{ type: write_tfds, input: docs, name: tiny, version: 1.0.0, shards: 3, out: "${{out}}" }}
"""
# Part of the text: it is executed where text is treated as markup, and then leaves this title.
EVIL = "<script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">ｶﾞｷﾞｸﾞ\n"


PHONE = 390  # pixels


def browse(*options):
    """Chromium's standard output, and its console, which it writes to standard error."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    command = [program or fail("there is no chromium: apt-get install chromium"), "--headless",
               "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
               "--disable-background-networking", "--enable-logging=stderr", "--virtual-time-budget=2000"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")  # its sandbox does not work as root
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([*command, f"--user-data-dir={profile}", *options], capture_output=True, text=True,
                              timeout=100, check=False)
    if done.returncode != 0:
        fail(f"chromium ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def shoot(page, name, shots, width, height, dark=False):
    shots.mkdir(parents=True, exist_ok=True)
    picture = shots / f"{name}.png"
    picture.unlink(missing_ok=True)
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    _, console = browse(f"--screenshot={picture}", f"--window-size={width},{height}", *scheme, page.as_uri())
    if console:
        fail(f"{name}: the page complains: {console}")
    if not picture.exists() or picture.stat().st_size < 20_000:
        fail(f"{name}: no picture, or an empty one")
    print(f"{picture}: {picture.stat().st_size} bytes")


def check_phone(page, root):
    """On a phone one graph is shown, and it goes on below instead of beyond the edge. A window cannot be as narrow as a
    phone; a frame can."""
    probe = root / "probe.html"
    probe.write_text(f"""<!doctype html><iframe style="width:{PHONE}px;height:900px;border:0" srcdoc="{html.escape(page.read_text())}"></iframe>
<script>onload = () => {{
  const shown = [...frames[0].document.querySelectorAll("svg.graph")].map(graph => graph.getBoundingClientRect());
  document.body.dataset.graphs = shown.filter(box => box.width).map(box => `${{box.left}} ${{box.right}}`).join(";");
}};</script>""")
    told = re.search(r'data-graphs="([^"]*)"', browse("--dump-dom", probe.as_uri())[0])
    graphs = [tuple(map(float, box.split())) for box in told[1].split(";")] if told and told[1] else []
    if len(graphs) != 1 or graphs[0][0] < 0 or graphs[0][1] > PHONE:
        fail(f"on a phone of {PHONE} pixels the graphs are from and to {graphs}")


def check_console_is_heard(root):
    """A script error is reported, so that its absence means something."""
    broken = root / "broken.html"
    broken.write_text("<!doctype html><script>nothing.there();</script>")
    if not any("nothing is not defined" in line for line in browse("--dump-dom", broken.as_uri())[1]):
        fail("a script error of a broken page is not heard: this test would find nothing")


def report(program, run):
    """Path of the page that `pipe report` writes."""
    done = subprocess.run([program, "report", str(run.file), "--work", str(run.work)], capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode != 0:
        fail(f"`pipe report` said {done.stdout!r} {done.stderr!r}", run)
    return Path(done.stdout.strip())


def check_other_ends(program, root, text):
    """A killed run has a page on request; a failed run leaves a page with the reason."""
    run = Run(program, root / "killed", PIPELINE.format(corpus=text))
    if run.finish(kill_at="partition.logged:3") == 0:
        fail("the run was not killed", run)
    page = report(program, run).read_text()
    if ">Unfinished<" not in page or ">blank_lines<" not in page:
        fail("the page of a killed run does not say what is known", run)
    pipeline = PIPELINE.replace("form: nfkc", "form: nfkc, expect: {{ kept_ratio: [0.1, 0.2] }}")
    run = Run(program, root / "failed", pipeline.format(corpus=text))
    if run.finish() != 1:
        fail("a run that breaks its own expectation did not fail", run)
    page = Path(re.search(r"report: (\S+/report\.html)", run.messages())[1]).read_text()
    if ">Failed<" not in page or "kept_ratio" not in page:
        fail("the page of a failed run does not say why", run)


def main():
    program, shots = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        check_console_is_heard(root)
        text = root / "corpus.txt"
        text.write_bytes(EVIL.encode() * 200 + sentences(7, 2_500_000) + b"\n" + corpus(7, 300_000))
        run = Run(program, root / "run", PIPELINE.format(corpus=text))
        if run.finish("-j", "2", "--set", "api_token=hush-hush") != 0:
            fail("the run failed", run)
        told = re.search(r"report: (\S+/report\.html)", run.messages())
        page = Path(told[1]) if told else fail("the run does not say where its report is", run)
        size = page.stat().st_size
        if size > 2 << 20:
            fail(f"the page has {size} bytes")
        for kept in (page, page.with_name("events.jsonl"), run.work / "run.log"):
            if b"hush-hush" in kept.read_bytes():
                fail(f"{kept} holds a secret of the command line")
        dom, console = browse("--dump-dom", page.as_uri())
        if console:
            fail(f"the page complains: {console}")
        if "taken over" in re.search(r"<title>(.*?)</title>", dom)[1] or "<img" in dom:
            fail("text of the corpus was taken for markup")
        if "data-summary=" not in dom:
            fail("the page's own script did not run")
        for wanted in ("ガギグ", "invalid_utf8", 'id="samples"', 'class="line s0"', 'id="stage-10"'):
            if wanted not in dom:
                fail(f"{wanted} is not in the page")
        shoot(page, "light", shots, 1280, 5200)
        shoot(page, "dark", shots, 1280, 5200, dark=True)
        check_phone(page, root)
        phone = root / "phone.html"
        phone.write_text(f'<!doctype html><body style="margin:0"><iframe src="{page.as_uri()}" '
                         f'style="width:{PHONE}px;height:7200px;border:0"></iframe>')
        shoot(phone, "phone", shots, 500, 7200)

        before = page.read_bytes()
        page.unlink()
        if report(program, run) != page:
            fail("`pipe report` names another page than the run did", run)
        if page.read_bytes() != before:
            fail("`pipe report` writes another page than the run did")
        check_other_ends(program, root, text)
    print("ok")


if __name__ == "__main__":
    main()
