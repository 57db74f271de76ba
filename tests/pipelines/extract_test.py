#!/usr/bin/env python3
"""The output of pipelines/quickstart/extract.py for small pages."""

import contextlib
import io
import lzma
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pipelines" / "quickstart"))
import extract


class ParseTest(unittest.TestCase):
    def lines(self, html):
        return [line for document in extract.parse(html) for line in document]

    def test_text_belongs_to_the_innermost_block(self):
        self.assertEqual(self.lines("<table><tr><td>前<p>中</p>後</td></tr></table>"), ["前", "中", "後"])

    def test_inline_elements_do_not_end_a_line(self):
        self.assertEqual(self.lines("<p>本<b>文</b>と<code>ls -l</code>です</p>"), ["本文とls -lです"])

    def test_white_space_collapses_and_a_line_break_is_white_space(self):
        self.assertEqual(self.lines("<p>\n 一\t 二<br>三<br/>四 </p>"), ["一 二 三 四"])

    def test_references_to_characters_are_resolved(self):
        self.assertEqual(self.lines("<p>&lt;&#12354;&gt;</p>"), ["<あ>"])

    def test_a_term_stays_out_of_its_definition(self):
        self.assertEqual(self.lines("<dl><dt>語<dd>意味</dl>"), ["語", "意味"])

    def test_an_empty_element_does_not_open_anything(self):
        self.assertEqual(self.lines('<p><a id="x"/>あ<img src="y">い</p>'), ["あい"])

    def test_page_furniture_is_passed_over_with_all_that_nests_in_it(self):
        self.assertEqual(self.lines('<header><div>上</div></header>'
                                    '<div class="big navheader"><div>前</div>次</div>'
                                    '<div class="toc"><p>目次</p></div>'
                                    '<p>本文</p>'
                                    '<aside><aside>横</aside>脇</aside>'
                                    '<footer><div class="debug">下</div></footer>'), ["本文"])

    def test_text_around_furniture_is_two_blocks(self):
        self.assertEqual(self.lines('<p>左<span class="debug">虫</span>右</p>'), ["左", "右"])

    def test_a_heading_of_the_given_level_begins_a_document(self):
        self.assertEqual(extract.parse("<h1>章</h1><h2>一</h2><p>文</p><h3>二</h3>", frozenset(("h2", "h3"))),
                         [["章"], ["一", "文"], ["二"]])


class CorpusTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def write(self, name, html):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, encoding="utf-8")
        return path

    def test_foreign_and_repeated_blocks_and_empty_documents_are_left_out(self):
        corpus = extract.Corpus()
        counts = corpus.add_files([self.write("a.html", "<p>同じ文</p><p>English only</p>"),
                                   self.write("b.html", "<p>同じ文</p>"),
                                   self.write("c.html", "<p>同じ文</p><p>別の文</p>")])
        self.assertEqual(corpus.text(), "同じ文\n\n別の文\n\n")
        self.assertEqual(counts, {"files": 3, "documents": 2, "lines": 2, "characters": 6,
                                  "foreign": 1, "repeated": 2})

    def test_punctuation_alone_is_not_japanese(self):
        corpus = extract.Corpus()
        corpus.add_files([self.write("a.html", "<p>a、b。・ー</p><p>ｶﾅ</p>")])
        self.assertEqual(corpus.text(), "ｶﾅ\n\n")

    def run_main(self, out):
        streams = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = extract.main(["--debian-reference", str(self.root / "debian"),
                                 "--libreoffice", str(self.root / "office"), "--out", str(out)])
        return code, streams[0].getvalue(), streams[1].getvalue()

    def test_files_are_read_in_the_order_of_their_names(self):
        self.write("debian/ch02.ja.html", "<h2>第二</h2>")
        self.write("debian/ch01.ja.html", "<h1>序</h1><h2>第一</h2>")
        self.write("debian/ch01.en.html", "<h2>英語版</h2>")
        self.write("office/z/a.html", "<p>末</p>")
        self.write("office/b.html", "<p>中</p>")
        outs = self.root / "1.xz", self.root / "2.xz"
        for out in outs:
            code, report, _ = self.run_main(out)
            self.assertEqual(code, 0)
            self.assertIn("debian-reference-ja: 2 files, 3 documents, 3 lines", report)
            self.assertIn("5 documents", report)
        self.assertEqual(lzma.decompress(outs[0].read_bytes()).decode(), "序\n\n第一\n\n第二\n\n中\n\n末\n\n")
        self.assertEqual(outs[0].read_bytes(), outs[1].read_bytes())

    def test_a_missing_package_is_an_error_that_names_it_and_leaves_no_file(self):
        self.write("debian/ch01.ja.html", "<h2>第一</h2>")
        out = self.root / "out.xz"
        code, _, errors = self.run_main(out)
        self.assertEqual(code, 1)
        self.assertIn("libreoffice-help-ja", errors)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
