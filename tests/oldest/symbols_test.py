#!/usr/bin/env python3
"""The programs call nothing that is newer than the oldest system and the oldest libraries in CMakeLists.txt.

    symbols_test.py BUILD        prints every newer call of the programs and plugins of BUILD; exit code 1 if there is
                                 one, 77 on a system newer than Debian 12
    symbols_test.py --self-test  shows that each kind of newer call is found

The versions of functions come from the lists that Debian's packages of libraries have (/var/lib/dpkg/info/*.symbols),
from the tags of glibc and libstdc++ in the programs, and from calls.txt. The options of libcurl are no functions: its
header numbers them in the order of their versions.
"""

import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DPKG = Path("/var/lib/dpkg/info")
NEWEST_GLIBC = (2, 36)  # Debian 12: its headers and its compiler choose nothing newer than 2.35 by themselves
SKIPPED = 77  # ctest shows it

# Names in CMakeLists.txt, and names of the shared libraries.
SONAMES = {"libcrypto": "crypto", "libcurl": "curl", "libarchive": "archive", "libbrotlidec": "brotlidec",
           "liblz4": "lz4", "liblzma": "lzma", "libisal": "isal", "libxxhash": "xxhash", "TBB": "tbb",
           "yaml-cpp": "yaml-cpp"}
# The last option of libcurl in the oldest version, and the header's lines of its kind.
LAST_OPTIONS = {("libcurl", (7, 81)): (("CURLOPT_MIME_OPTIONS", r"\b(CURLOPT_\w+), *CURLOPTTYPE_\w+, *(\d+)"),
                                       ("CURLINFO_REFERER", r"\b(CURLINFO_\w+) *= *CURLINFO_[A-Z_]+ *\+ *(\d+)"))}


def version(text):
    """(5, 1, 1) of "5.1.1alpha+20110809"; without zeros at the end, so that 3.6.0 is 3.6."""
    numbers = [int(number) for number in re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", text)[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def oldest_versions(cmake):
    """{library: oldest version} of the text of CMakeLists.txt; GLIBC, GLIBCXX and CXXABI are tags."""
    modules = " ".join(re.findall(r"IMPORTED_TARGET ([^)]*)\)", cmake))
    found = dict(re.findall(r"([\w-]+)>=([\d.]+)", modules))
    found |= dict(re.findall(r"find_package\((TBB|yaml-cpp) ([\d.]+) REQUIRED\)", cmake))
    found |= {"bz2": match for match in re.findall(r"find_package\(BZip2 ([\d.]+) REQUIRED\)", cmake)}
    found |= dict(re.findall(r"find_library\(MECAB_LIBRARY (mecab) REQUIRED\) +# ([\d.]+)", cmake))
    found |= dict(re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_(\d[\d.]*)", cmake))
    return {name: version(number) for name, number in found.items()}


def library_lists(texts):
    """{"curl": {"curl_url@CURL_OPENSSL_4": "7.62.0"}} of lists in Debian's format."""
    found = {}
    for text in texts:
        names = {}
        for line in text.splitlines():
            if match := re.match(r"lib([\w+-]+?)(?:-[\d.]+)?\.so\S* ", line):
                names = found.setdefault(match[1], {})
            elif line.startswith(" "):
                name, number = line.split()[:2]
                names[name] = number
    return found


def call_list(text):
    """{name: (library, version)} of calls.txt."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            library, number, name = line.split(maxsplit=2)
            found[name] = (library, version(number))
    return found


def plain(name):
    """A demangled name without arguments and without ICU's version."""
    name = re.sub(r"\bicu_\d+::", "icu::", name)
    name = name.split("(")[0]
    return re.sub(r"^(u_\w+|ucnv_\w+|uregex_\w+|uscript_\w+|utext_\w+|UCNV_\w+)_\d+$", r"\1", name)


def newer(symbols, oldest, lists, calls):
    """Findings about (symbol, demangled symbol) pairs; a symbol is NAME or NAME@TAG."""
    for symbol, readable in symbols:
        tag = re.search(r"@(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)$", symbol)
        if tag:
            if tag[1] != "GCC" and version(tag[2]) > oldest[tag[1]]:
                yield f"{readable} is newer than {tag[1]}_{'.'.join(map(str, oldest[tag[1]]))}"
            continue
        key = symbol if "@" in symbol else symbol + "@Base"
        found = [(name, version(lists[soname][key])) for name, soname in SONAMES.items()
                 if key in lists.get(soname, {})]
        if plain(readable) in calls:
            found.append(calls[plain(readable)])
        if not found:
            yield (f"{readable} is in no list of versions; add it to tests/oldest/calls.txt with the first version of "
                   "its library that has it")
        for library, number in found:
            if number > oldest[library]:
                yield (f"{readable} needs {library} {'.'.join(map(str, number))}; CMakeLists.txt allows "
                       f"{'.'.join(map(str, oldest[library]))}")


def newer_options(text, header, last):
    """Findings about the options of libcurl in the text of a source; `last` is a row of LAST_OPTIONS."""
    name, pattern = last
    numbers = {option: int(number) for option, number in re.findall(pattern, header)}
    for option in sorted(set(re.findall(r"\bCURL(?:OPT|INFO)_\w+", text))):
        if numbers.get(option, 0) > numbers[name]:
            yield f"{option} is newer than {name}"


def imported(program):
    """(symbol, demangled symbol) of the functions and variables that a program takes from libraries."""
    listings = [subprocess.run(["nm", "-D", "--undefined-only", *demangled, program], capture_output=True, text=True,
                               check=True).stdout.splitlines() for demangled in ((), ("-C",))]
    for line, readable in zip(*listings):
        kind, symbol = line.split()
        if kind == "U":  # the others are weak: compilers add them for tools
            yield symbol.replace("@@", "@"), readable.split(maxsplit=1)[1].split("@")[0]


def curl_header():
    include = Path(subprocess.run(["pkg-config", "--variable=includedir", "libcurl"], capture_output=True, text=True,
                                  check=True).stdout.strip())
    places = (include / "curl/curl.h", *include.glob("*/curl/curl.h"))
    return next(place for place in places if place.exists()).read_text(encoding="utf-8")


def check(build):
    if version(platform.libc_ver()[1]) > NEWEST_GLIBC:
        print(f"not compared: with glibc {platform.libc_ver()[1]} the compiler itself chooses newer functions")
        return SKIPPED
    oldest = oldest_versions((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    lists = library_lists(path.read_text(encoding="utf-8") for path in DPKG.glob("*.symbols"))
    calls = call_list((HERE / "calls.txt").read_text(encoding="utf-8"))
    programs = [build / "bin/pipe", *sorted(build.glob("bin/plugins/**/*.so"))]
    count, findings = 0, []
    for program in programs:
        symbols = list(imported(program))
        count += len(symbols)
        findings += [f"{program.relative_to(build)}: {finding}" for finding in newer(symbols, oldest, lists, calls)]
    for (library, number), kinds in LAST_OPTIONS.items():
        assert oldest[library] == number, f"CMakeLists.txt has another {library}: renew LAST_OPTIONS of {HERE.name}"
        header = curl_header()
        for source in sorted((ROOT / "storage/remote/http").glob("*.cc")):
            for kind in kinds:
                findings += [f"{source.name}: {finding}"
                             for finding in newer_options(source.read_text(encoding="utf-8"), header, kind)]
    print("\n".join(findings) or f"{count} imported symbols of {len(programs)} programs are old enough")
    return 1 if findings else 0


def self_test():
    oldest = oldest_versions("# GLIBC_2.35 GLIBCXX_3.4.30 CXXABI_1.3.13\n"
                             "pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma>=5.2.5)\n"
                             "pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.81)\n"
                             "pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.4.8)\n"
                             "pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc>=70.1 icu-i18n>=70.1)\n")
    lists = library_lists(["libcurl.so.4 libcurl4 #MINVER#\n* Build-Depends-Package: x\n"
                           " curl_easy_header@CURL_OPENSSL_4 7.83.0\n curl_easy_init@CURL_OPENSSL_4 7.16.2\n",
                           "liblzma.so.5 liblzma5 #MINVER#\n lzma_code@XZ_5.0 5.1.1alpha+20110809\n"
                           " lzma_stream_decoder_mt@XZ_5.4 5.4.0\n"])
    calls = call_list("# head\nlibzstd 1.4.0 ZSTD_isError\nlibzstd 1.5.6 ZSTD_new\n"
                      "icu-uc 4.2 typeinfo for icu::ByteSink\nicu-uc 2.0 u_charType\n")

    def finds(symbol, readable=""):
        return list(newer([(symbol, readable or symbol.split("@")[0])], oldest, lists, calls))

    for old in ("write@GLIBC_2.2.5", "a@GLIBC_2.35", "b@GLIBCXX_3.4.30", "c@CXXABI_1.3", "_Unwind_Resume@GCC_3.0",
                "curl_easy_init@CURL_OPENSSL_4", "lzma_code@XZ_5.0", "ZSTD_isError", "u_charType_72"):
        assert not finds(old), old
    assert not finds("_ZTIN6icu_728ByteSinkE", "typeinfo for icu_72::ByteSink")
    for new, told in (("arc4random@GLIBC_2.36", "newer than GLIBC_2.35"),
                      ("d@GLIBCXX_3.4.31", "newer than GLIBCXX_3.4.30"),
                      ("e@CXXABI_1.3.14", "newer than CXXABI_1.3.13"),
                      ("curl_easy_header@CURL_OPENSSL_4", "needs libcurl 7.83"),
                      ("lzma_stream_decoder_mt@XZ_5.4", "needs liblzma 5.4"), ("ZSTD_new", "needs libzstd 1.5.6"),
                      ("ZSTD_unknown", "is in no list"), ("curl_unknown@CURL_OPENSSL_4", "is in no list")):
        assert any(told in finding for finding in finds(new)), new
    header = "CURLOPT(CURLOPT_OLD, CURLOPTTYPE_LONG, 1),\nCURLOPT(CURLOPT_NEW, CURLOPTTYPE_LONG, 2),\n"
    last = ("CURLOPT_OLD", LAST_OPTIONS[("libcurl", (7, 81))][0][1])
    assert not list(newer_options("Set(CURLOPT_OLD)", header, last))
    assert list(newer_options("Set(CURLOPT_NEW)", header, last)) == ["CURLOPT_NEW is newer than CURLOPT_OLD"]
    print("each kind of newer call is found")
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else check(Path(sys.argv[1])))
