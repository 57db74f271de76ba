#!/usr/bin/env python3
"""Tables with many bad rows, and `expect` with reasons: the run refuses, at a known point and with known words. It says
the same after kills, in partitions and with any number of threads.

    bad_rows.py PIPE
"""

import json
import random
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, fail, hold
from scenarios import play, scenario

FILE = """\
pipe: 1
name: rows
vars: {{ out: "", corpus: "", bad: 0.01 }}
stages:
  source: {{ type: download, url: "${{corpus}}" }}
  lines: {{ type: read_rows, input: source, format: {format}, text: text, partition: {partition}, max_bad_rows: "${{bad}}"{more} }}
  clean: {{ type: normalize, input: lines }}
  text: {{ type: write_tfds, input: clean, name: rows, version: 1.0.0, shards: 2, out: "${{out}}" }}
"""


def rows(count, bad, seed=1):
    """Returns rows of JSON Lines; row N is cut short if `bad(N)`."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        row = json.dumps({"text": f"{number} " + "あいうえお"[:chance.randrange(1, 6)], "more": number}, ensure_ascii=False)
        made.append(row[:-2] if bad(number) else row)
    return "\n".join(made) + "\n"


class Scenarios:

    def __init__(self, program, root):
        self.program, self.root = program, root

    def run(self, name, *texts, format="jsonl", partition="64KiB", more=""):  # pylint: disable=redefined-builtin
        """Returns a run over one file per text, with these options."""
        run = Run(self.program, self.root / name, FILE.format(format=format, partition=partition, more=more))
        for number, text in enumerate(texts):
            (run.root / f"part-{number:03}.{format}").write_bytes(text if isinstance(text, bytes) else text.encode())
        return run

    def end(self, run, *options, code=0, kill_at=None, format="jsonl"):  # pylint: disable=redefined-builtin
        """Runs it, checks the exit code, and returns its messages."""
        before = len(run.messages()) if (run.root / "messages").exists() else 0
        ended = run.finish("--set", f"corpus={run.root}/part-*.{format}", *options, kill_at=kill_at)
        hold(ended == code, run, f"exit code {ended} instead of {code}")
        return run.messages()[before:]

    def refused(self, run, *words, **options):
        said = self.end(run, code=1, **options)
        for word in words:
            hold(word in said, run, f"it says {word!r}")
        hold(not (run.out / "rows" / "1.0.0" / "MANIFEST.json").exists(), run, "nothing is published")
        return said

    @scenario
    def broken_rows_end_a_run(self):
        run = self.run("broken", rows(4000, lambda number: number % 10 != 3))
        self.refused(run, "part-000.jsonl: 3600 of 4000 rows are at fault, more than max_bad_rows (0.01) allows",
                     'the first is line 1, dropped_json: {"text": "0 ', "raise max_bad_rows if so many are right",
                     "all are in quarantine/lines-")
        self.refused(run, "3600 of 4000 rows")
        hold(run.log().ended("lines/") == 0, run, "the input has no end")
        self.end(run, "--set", "bad=0.9")
        manifest = json.loads((run.out / "rows" / "1.0.0" / "MANIFEST.json").read_bytes())
        hold(manifest["counts"]["lines"]["reasons"]["dropped_json"] == 3600, run, "the rest is published")

    @scenario
    def a_few_are_no_matter(self):
        self.end(self.run("twenty", rows(60, lambda number: number < 20)))
        self.refused(self.run("more", rows(60, lambda number: number < 21)), "21 of 60 rows", "line 1,")
        self.end(self.run("share", rows(4000, lambda number: number % 100 == 50)))
        self.refused(self.run("above", rows(4000, lambda number: number % 100 == 50 or number == 7)), "41 of 4000 rows",
                     "line 8,")

    @scenario
    def a_half_is_too_much_at_any_number(self):
        """A JSON array with one object a line: only the last one has no comma behind it."""
        run = self.run("array", "".join(f'{{"text": "猫 {number}"}},\n' for number in range(17)) + '{"text": "犬"}\n')
        said = self.refused(run, "17 of 18 rows are at fault, more than max_bad_rows (0.01) allows", "line 1, dropped_json")
        hold("or raise max_bad_rows" in said, run, "one row is right")
        said = self.end(run, "--set", "bad=0.95").splitlines()
        hold(said[-1].startswith("part-000.jsonl: 17 of 18 rows (94.44 %) were left out: dropped_json (") and
             "; they are in " in said[-1], run, f"the last line tells it: {said[-1]}")
        said = self.refused(self.run("all", "[1]\n[2]\n"), "2 of 2 rows are at fault")
        hold("raise max_bad_rows" not in said, run, "no bound would help")
        # One row is no share of a file beside others.
        self.end(self.run("single", "[1]\n", *(rows(40, lambda _: False, seed) for seed in range(3))))
        self.refused(self.run("alone", "[1]\n"), "1 of 1 rows is at fault")

    @scenario
    def a_tenth_is_told_in_the_last_lines(self):
        table = 'id,text\n1,"say \\"a\\" now"\n2,b\n3,c\n4,"say \\"d\\" now"\n5,e\n'
        run = self.run("told", table, "id,text\n" + "".join(f"{number},good\n" for number in range(50)), format="csv")

        def told(said, number):
            last = said.splitlines()[-1]
            where = last.rpartition("; they are in ")[2]
            hold(last.startswith('part-000.csv: 2 of 5 rows (40 %) were left out: dropped_quotes (\\" stands in them') and
                 "; the first is line 2; " in last, run, last)
            hold(len(list(Path(where).glob("*.jsonl"))) == number, run, f"{where} has them")

        self.end(run, "-j1", kill_at="shard.logged:1", code=-9, format="csv")
        told(self.end(run, format="csv"), 1)
        hold("rows (" not in self.end(self.run("few", rows(11, lambda number: number == 3)), code=0), run, "9 % is not told")

    @scenario
    def rows_without_any_text_are_no_silence(self):
        named = lambda count, name: "".join(json.dumps({"id": number, name: f"text {number}"}) + "\n" for number in range(count))
        run = self.run("mostly-not", named(1, "text") + named(999, "body"))
        self.refused(run, "999 of 1000 rows are without a column of text, more than max_bad_rows (0.5) allows",
                     "the first is line 2, dropped_no_text: ", "these rows lack 'text' and have the columns 'body', 'id'")
        self.refused(self.run("five-rows", named(2, "text") + named(3, "body")), "3 of 5 rows are without a column of text")
        # Up to a half the run ends well. The last lines tell it, also those of a run that reads nothing again.
        run = self.run("part-of-them", named(340, "text") + named(60, "body"))
        for out in ("first", "second"):
            last = self.end(run, "--set", f"out={run.root}/{out}").splitlines()[-1]
            hold(last.startswith("part-000.jsonl: 60 of 400 rows (15 %) were left out: dropped_no_text (these rows lack 'text'") and
                 "; the first is line 341; they are in " in last, run, last)
        kept = "".join(path.read_text() for path in Path(last.rpartition("; they are in ")[2]).glob("*.jsonl"))
        hold(kept.count('\\"body\\"') >= 60, run, "the quarantine has each row as it was")
        self.end(self.run("a-few", named(980, "text") + named(20, "body")))
        nulls = "".join('{"text": null}\n' for _ in range(50))
        run = self.run("some-nulls", named(350, "text") + nulls)
        self.end(run)

    @scenario
    def a_column_that_many_rows_lack_is_told(self):
        text = "".join(json.dumps({"title": f"title {number}", "body" if number < 900 else "text": "a"}) + "\n" for number in range(1000))
        run = self.run("lacking", text)
        run.file.write_text(run.file.read_text().replace("text: text, ", "text: [title, text], "))
        last = self.end(run).splitlines()[-1]
        hold(last == "part-000.jsonl: 900 of 1000 rows have no column 'text': they have body, title", run, last)

    @scenario
    def bytes_count_beside_rows(self):
        long = json.dumps({"text": "あいう\n" * 300_000}, ensure_ascii=False)
        run = self.run("long", '{"text": "a"}\n' + long + '\n{"text": "b"}\n', partition="1MiB", more=", max_record_bytes: 1MiB")
        self.refused(run, "1 of 3 rows, with 99.99 % of the bytes, is at fault", "line 2, long_quarantined",
                     "rows longer than max_record_bytes (1.00 MiB) are set aside: raise it")
        good = "".join(f"line {number}\n" for number in range(3000))
        file = FILE.format(format="jsonl", partition="1MiB", more="").replace("type: read_rows", "type: decompress").replace(
            "format: jsonl, text: text, ", "documents: line, max_record_bytes: 1MiB, ").replace("max_bad_rows", "invalid_lines")
        run = Run(self.program, self.root / "zeros", file)
        (run.root / "part-000.jsonl").write_bytes(good.encode() + bytes(3_000_000))
        self.refused(run, " of the bytes, are at fault, more than invalid_lines (0.01) allows", "most of their bytes are NUL")

    @scenario
    def one_quote_costs_one_row(self):
        for name, quotes in (("one", {100}), ("two", {100, 160})):
            run = self.run(name, "id,text\n" + "".join(f"{number}," + '"' * (number in quotes) + f"text {number}\n" for number in range(300)),
                           format="csv", partition="1KiB")
            self.end(run, format="csv", kill_at="partition.logged:2", code=-9)
            self.end(run, format="csv")
            counts = json.loads((run.out / "rows" / "1.0.0" / "MANIFEST.json").read_bytes())["counts"]["lines"]
            hold(counts["records_in"] == 300 and counts["reasons"] == {"dropped_quotes": len(quotes)}, run, str(counts))
        # By the rules of earlier versions it takes in the rest, which counts by lines.
        run = self.run("first", "id,text\n" + "".join(f"{number}," + '"' * (number == 270) + f"text {number}\n" for number in range(300)),
                       format="csv", more=", rules: 1")
        self.refused(run, "30 of 300 rows are at fault", "line 272, dropped_quotes", "none closes it", format="csv")

    @scenario
    def nothing_left_names_reasons_and_columns(self):
        run = self.run("columns", "".join(f'{{"id": {number}, "content": "猫"}}\n' for number in range(12)))
        self.refused(run, "part-000.jsonl: no row has a column 'text', of 12 rows: they have content, id")
        some = '{"id": 0}\n' + '{"id": 1, "text": "猫"}\n' * 2
        self.end(self.run("some", some))
        self.refused(self.run("none", some, '{"id": 0}\n' * 3), "part-001.jsonl: no row has a column 'text', of 3 rows: they have id")
        run = self.run("many", "".join(f'{{"id": {number}, "content": "猫"}}\n' for number in range(50)), more=', rules: "1"')
        self.refused(run, "50 of 50 rows are at fault", "have the columns 'content', 'id'")
        run = self.run("filtered", rows(12, lambda number: False), more="}\n  filter: { type: filter, input: lines, min_chars: 500")
        run.file.write_text(run.file.read_text().replace("normalize, input: lines", "normalize, input: filter"))
        self.refused(run, "stage 'filter' took in 12 and gave 0 (dropped_min_chars 12")

    @scenario
    def many_files_with_a_few_each(self):
        run = self.run("files", *(rows(40, lambda number: number < 10, seed) for seed in range(5)))
        self.refused(run, "stage 'lines': in all inputs together 50 of 200 rows are at fault, more than max_bad_rows (0.01)")
        self.end(run, "--set", "bad=0.25")

    @scenario
    def other_inputs_are_kept(self):
        run = self.run("others", rows(3000, lambda number: False, 1), rows(3000, lambda number: number % 2, 2),
                       rows(3000, lambda number: False, 3))
        self.refused(run, "part-001.jsonl: 1500 of 3000 rows", "line 2,")
        whole = [run.log().ended(f"text/000{number}") for number in range(3)]
        hold(whole[1] == 0 and sum(whole) > 0, run, f"the others' ends are logged: {whole}")
        done = run.log().done("text/0000-")
        self.end(run, "--set", "bad=0.5")
        hold(run.log().done("text/0000-") == done, run, "the first file is not read again")

    @scenario
    def long_before_the_end(self):
        """The first 100,000 rows show it; the rest is not read."""
        text = rows(120_000, lambda number: number % 20 == 4)
        run = self.run("early", text + rows(120_000, lambda number: False, 9), partition="1MiB")
        said = self.refused(run, " rows are at fault", "line 5,")
        read = int(said.split(" rows are at fault")[0].split()[-1])
        hold(100_000 <= read < 150_000, run, f"{read} rows were read")
        parts = run.log().done("text/")
        self.refused(run, f" of {read} rows are at fault")
        hold(run.log().done("text/") == parts, run, "and nothing more is read when it is tried again")

    @scenario
    def the_same_result_any_way(self):
        text = rows(9000, lambda number: number in range(8000, 8150))
        words = ("part-000.jsonl: 150 of 9000 rows", "line 8001,")
        for number, options in enumerate((("-j1",), ("-j4", "--batch-bytes=700"), ("-j2", "--batch-bytes=100000"))):
            said = self.end(self.run(f"way-{number}", text, partition="8KiB"), *options, code=1)
            for word in words:
                if word not in said:
                    fail(f"{options}: {word} is not in {said[-2000:]}")
        run = self.run("kills", text, partition="8KiB")
        for point in ("partition.committed:3", "partition.logged:5", "object.visible:9", "partition.logged:2"):
            self.end(run, kill_at=point, code=-9)
        self.refused(run, *words)
        self.end(run, "--set", "bad=0.02")
        whole = self.run("whole", text, partition="8KiB")
        self.end(whole, "--set", "bad=0.02")
        hold(run.published(lineage=False) == whole.published(lineage=False), run, "it ends with the same bytes")

    @scenario
    def tables(self):
        good = "".join(f"{number}\ttext {number}\n" for number in range(500))
        bad = "".join(f"{number}\n" for number in range(100))
        self.refused(self.run("tsv", "id\ttext\n" + good + bad, format="tsv"), "100 of 600 rows", "line 502,",
                     "dropped_columns: 0;", format="tsv")
        quoted = 'id,text\n' + "".join(f"{number},a\n" for number in range(50)) + "".join(f'{number},"b\n' for number in range(61))
        self.refused(self.run("csv", quoted, format="csv"), "61 of 111 rows", "dropped_quotes", format="csv")
        # An empty field is no fault.
        self.end(self.run("empty", "id\ttext\n" + "".join(f"{number}\t\n" for number in range(500)) + good, format="tsv"),
                 format="tsv")

    @scenario
    def rows_outside_of_a_subset_do_not_count(self):
        text = rows(9000, lambda number: number % 2)
        said = self.end(self.run("subset", text, more=', subset: "10%"'), code=1)
        counted = int(said.split(" rows are at fault")[0].split()[-1])
        if not 700 < counted < 1100:
            fail(f"{counted} rows of a tenth of 9000")

    @scenario
    def expectations_of_reasons(self):
        text = rows(2000, lambda number: number % 200 == 5)  # 10 bad rows
        run = self.run("reason", text, more=", expect: { reasons: {dropped_json: [0, 0.004]}, dropped: [0, 0.05] }")
        self.refused(run, "stage 'lines': the share of dropped_json is 0.005, and its `expect` asks for 0 to 0.004")
        run = self.run("dropped", text, more=", expect: { reasons: {dropped_json: [0, 0.005]}, dropped: [0.006, 0.05] }")
        self.refused(run, "stage 'lines': dropped is 0.005, and its `expect` asks for 0.006 to 0.05")
        self.end(self.run("kept", text, more=", expect: { reasons: {dropped_json: [0, 0.005], crlf: [0, 0]}, dropped: [0, 0.005] }"))
        for name, more, words in (
                ("typo", "expect: { reasons: {dropped_jsn: [0, 1]} }", "never counts 'dropped_jsn'; did you mean 'dropped_json'?"),
                ("other", "expect: { reasons: {dropped_min_chars: [0, 1]} }", "never counts 'dropped_min_chars'"),
                ("archives", "expect: { reasons: {members: [0, 1]} }", "has no share")):
            said = self.end(self.run(name, text, more=", " + more), code=2)
            if words not in said or "pipeline.yaml:6:" not in said:
                fail(f"{name}: {said}")

    @scenario
    def documents_have_a_share_of_their_own(self):
        file = FILE.format(format="jsonl", partition="64KiB", more="").replace(
            "type: read_rows", "type: decompress").replace("format: jsonl, text: text, ", "").replace(
                ', max_bad_rows: "${bad}"', ", max_document_bytes: 20KiB, expect: { reasons: {document_cut: [0.25, 0.25]} }")
        text = "\n\n".join(["short"] * 3 + ["\n".join(["a line of a long document"] * 1000)])
        run = Run(self.program, self.root / "documents", file)
        (run.root / "part-000.jsonl").write_text(text, encoding="utf-8")
        self.end(run)
        manifest = json.loads((run.out / "rows" / "1.0.0" / "MANIFEST.json").read_bytes())
        hold(manifest["counts"]["lines"]["reasons"]["document_cut"] == 1, run, "one of four documents was cut")


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(Path(program).resolve(), Path(directory)))


if __name__ == "__main__":
    main(*sys.argv[1:])
