#!/usr/bin/env python3
"""Japanese prose from the HTML of two Debian packages, in the layout of CC-100.

    extract.py --debian-reference DIR --libreoffice DIR --out corpus.txt.xz

DIR of debian-reference holds ch*.ja.html; each h2 or h3 section of it becomes a document. DIR of
libreoffice is searched for *.html; each file becomes a document. The text has a block (paragraph,
heading, table cell ...) per line and a blank line after each document. Blocks without a Japanese
letter and repeated blocks are left out, and so are documents that are empty then. The same files give
the same text; counts go to standard output.
"""

import argparse
import lzma
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

# Text is given to the innermost of these that is open, so a cell's text is not counted twice
# through the paragraph in it. `dt` among them keeps terms out of their definitions.
BLOCKS = frozenset(
    "address article blockquote body caption center dd details div dl dt fieldset figcaption figure form"
    " h1 h2 h3 h4 h5 h6 hr li main ol p pre section summary table tbody td tfoot th thead tr ul".split())
# Parts of every page that are no prose.
SKIPPED = frozenset("aside button footer head header nav noscript script style".split())
SKIPPED_CLASSES = frozenset("debug navfooter navheader toc".split())
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())

JAPANESE = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9d]")


class BlockParser(HTMLParser):
    """Collects the blocks of one file; `documents` holds a list of lines for each document."""

    def __init__(self, document_tags):
        super().__init__(convert_charrefs=True)
        self.documents = [[]]
        self._document_tags = document_tags
        self._text = []
        self._skipped_tag = None  # the element that is being passed over, and how many of its
        self._skipped_depth = 0   # name are open inside it

    def handle_starttag(self, tag, attrs):
        if self._skipped_tag:
            self._skipped_depth += tag == self._skipped_tag
            return
        classes = (dict(attrs).get("class") or "").split()
        if tag in BLOCKS or tag in SKIPPED:
            self._flush()
        if tag not in VOID and (tag in SKIPPED or not SKIPPED_CLASSES.isdisjoint(classes)):
            self._flush()
            self._skipped_tag, self._skipped_depth = tag, 1
        elif tag in self._document_tags:
            self.documents.append([])
        elif tag == "br":
            self._text.append(" ")

    def handle_endtag(self, tag):
        if self._skipped_tag:
            self._skipped_depth -= tag == self._skipped_tag
            if self._skipped_depth == 0:
                self._skipped_tag = None
        elif tag in BLOCKS:
            self._flush()

    def handle_data(self, data):
        if not self._skipped_tag:
            self._text.append(data)

    def close(self):
        super().close()
        self._flush()

    def _flush(self):
        line = " ".join("".join(self._text).split())
        self._text.clear()
        if line:
            self.documents[-1].append(line)


def parse(html, document_tags=frozenset()):
    """The documents of one file: lists of lines, some of them perhaps empty."""
    parser = BlockParser(document_tags)
    parser.feed(html)
    parser.close()
    return parser.documents


class Corpus:
    """Collects documents, without blocks that are not Japanese or were seen before."""

    def __init__(self):
        self.documents = []
        self._seen = set()

    def add_files(self, paths, document_tags=frozenset()):
        """Adds what is new in each file; returns the counts for a line of the report."""
        counts = dict.fromkeys(("files", "documents", "lines", "characters", "foreign", "repeated"), 0)
        for path in paths:
            counts["files"] += 1
            for blocks in parse(path.read_text(encoding="utf-8"), document_tags):
                lines = []
                for block in blocks:
                    if not JAPANESE.search(block):
                        counts["foreign"] += 1
                    elif block in self._seen:
                        counts["repeated"] += 1
                    else:
                        self._seen.add(block)
                        lines.append(block)
                if lines:
                    self.documents.append(lines)
                    counts["documents"] += 1
                    counts["lines"] += len(lines)
                    counts["characters"] += sum(map(len, lines))
        return counts

    def text(self):
        return "".join("".join(line + "\n" for line in lines) + "\n" for lines in self.documents)


def main(argv):
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--debian-reference", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--libreoffice", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.xz")
    options = arguments.parse_args(argv)

    sources = (("debian-reference-ja", options.debian_reference,
                sorted(options.debian_reference.glob("ch*.ja.html")), frozenset(("h2", "h3"))),
               ("libreoffice-help-ja", options.libreoffice,
                sorted(options.libreoffice.rglob("*.html")), frozenset()))
    corpus = Corpus()
    for name, directory, paths, document_tags in sources:
        counts = corpus.add_files(paths, document_tags)
        if counts["documents"] == 0:
            print(f"{directory}: no Japanese text of {name} here: is the package unpacked?", file=sys.stderr)
            return 1
        print(f"{name}:", ", ".join(f"{value:,} {key}" for key, value in counts.items()))

    text = corpus.text().encode("utf-8")
    temporary = options.out.with_name(options.out.name + ".part")
    temporary.write_bytes(lzma.compress(text, preset=6))
    os.replace(temporary, options.out)
    print(f"{options.out}: {len(corpus.documents):,} documents, {len(text):,} bytes of text")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
