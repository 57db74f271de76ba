#!/usr/bin/env python3
"""Makes packages of the dictionaries of segment_words, for the places where the program of a folder finds them: a wheel
that lies beside that of the program, and a tarball that is unpacked into the folder.

    dictionary.py OUT [NAME...]

A compiled dictionary is that of Debian's package, which compiles it when it is installed, and that of `./dev dictionaries`.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tarball
import wheel
from folder import NAME, copy

ROOT = Path(__file__).resolve().parent.parent
FILES = ("char.bin", "dicrc", "matrix.bin", "sys.dic", "unk.dic")  # stages/lines/segment_words.md


@dataclass
class Dictionary:
    folder: str   # its name below share/pipe/dictionaries
    source: Path
    licence: Path
    spdx: str
    version: str
    language: str


DICTIONARIES = {
    "ipadic": Dictionary("ipadic-utf8", Path("/var/lib/mecab/dic/ipadic-utf8"),
                         Path("/usr/share/doc/mecab-ipadic/copyright"), "NAIST-2003", "2.7.0.20070801", "Japanese"),
    "ko-dic": Dictionary("mecab-ko-dic", ROOT / ".dictionaries/mecab-ko-dic",
                         ROOT / ".dictionaries/mecab-ko-dic/LICENSE", "Apache-2.0", "2.1.1", "Korean"),
}


def make(name, out):
    """Returns the paths of the wheel and of the tarball of a dictionary."""
    about, package = DICTIONARIES[name], f"{NAME}-{name}"
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for file in FILES:
            copy(about.source / file, root / "share/pipe/dictionaries" / about.folder / file)
        copy(about.licence, root / "share/doc/pipe/licences" / name)
        summary = f"The {about.language} dictionary of morphemes for the program of {NAME}, compiled for MeCab"
        text = "The stage `segment_words` of the program finds the dictionary without further settings.\n"
        of_wheel = wheel.About(package, about.version, "py3-none-any", summary, about.spdx,
                               f"mecab,morphemes,{about.language.lower()}", text, {name: about.licence})
        made = wheel.pack(root / "share/pipe/dictionaries", of_wheel, out)
        return made, tarball.pack(root, out / f"{package}-{about.version}.tar.gz", ".")


if __name__ == "__main__":
    for wanted in sys.argv[2:] or DICTIONARIES:
        for path in make(wanted, Path(sys.argv[1])):
            tarball.tell(path)
