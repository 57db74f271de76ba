#!/usr/bin/env python3
"""Servers that send wrong data, break off, are slow, or encode the body: the run ends with the right bytes and exit
code 0, or with one clear line and another code. It never publishes wrong bytes, and it always ends.

    hostile_servers.py PIPE [CASE...]
"""

import gzip
import hashlib
import io
import itertools
import lzma
import sys
import tempfile
import threading
import time
import traceback
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pipe_run import Run, differences, text_line, tool

AT_ONCE = 6
TEXT = "".join(f"{number} 行目の文である。名前はまだ無い。{number * 7919 % 1009}\n" + "\n" * (number % 5 == 0)
               for number in range(6000)).encode()
OTHER = TEXT.replace("猫".encode(), "犬".encode()).replace("名前".encode(), "前名".encode())
assert len(OTHER) == len(TEXT) and OTHER != TEXT
PACKED = lzma.compress(TEXT, preset=1)
QUICK = {"stall": 1, "silence": 3}
CASES = []


def pin(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def brotli(data):
    """Returns stored blocks (RFC 7932, 9.2): a stream that needs no encoder."""
    out, bits, count = bytearray(), 0, 1  # WBITS 16 is one bit, 0
    for at in range(0, len(data), 1 << 16):
        block = data[at:at + (1 << 16)]
        bits |= ((len(block) - 1) << 3 | 1 << 19) << count  # ISLAST 0, four nibbles, MLEN - 1, ISUNCOMPRESSED
        count += 20
        out += bits.to_bytes((count + 7) // 8, "little") + block
        bits = count = 0
    return bytes(out) + b"\x03"


def bare_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


ENCODE = {"gzip": lambda data: gzip.compress(data, mtime=0), "deflate": zlib.compress, "br": brotli,
          "zstd": lambda data: tool(data, "zstd", "-q", "-c")}


class Server:
    """Calls `answer(to, server)` for each request; `to` has the methods below."""

    def __init__(self, answer):
        server, self.gets, self.lock, self.ended = self, 0, threading.Lock(), threading.Event()

        class To(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                answer(self, server)

            def do_GET(self):
                with server.lock:
                    server.gets += 1
                    self.number = server.gets  # number of this GET, from 1
                answer(self, server)

            def first(self):
                """First byte of the requested range; None: the whole file."""
                wanted = self.headers.get("Range")
                return int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else None

            def reply(self, status, body=b"", length=None, stop_at=None, chunked=False, **headers):
                """Sends a response; with `stop_at`, closes the connection after so many bytes of the body."""
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                if chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                else:
                    self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                if self.command == "HEAD":
                    return
                part = body if stop_at is None else body[:stop_at]
                if chunked:
                    for at in range(0, len(part), 1 << 15):
                        chunk = part[at:at + (1 << 15)]
                        self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                    part = b"0\r\n\r\n" if stop_at is None else b""
                self.wfile.write(part)
                if stop_at is not None:
                    self.wfile.flush()
                    self.close_connection = True

            def file(self, data, etag='"1"', stop_at=None, told=None, **headers):
                """Sends the file as a correct server does. `told`: the size in the response to HEAD."""
                first, known = self.first(), self.headers.get("If-Range") in (None, etag)
                if etag:
                    headers["ETag"] = etag
                if self.command == "HEAD":
                    self.reply(200, b"", length=len(data) if told is None else told, Accept_Ranges="bytes", **headers)
                elif first is None or not known:
                    self.reply(200, data, stop_at=stop_at, Accept_Ranges="bytes", **headers)
                elif first >= len(data):
                    self.reply(416, Content_Range=f"bytes */{len(data)}")
                else:
                    end = self.headers["Range"].split("-")[1]
                    part = data[first:int(end) + 1 if end else len(data)]
                    self.reply(206, part, stop_at=stop_at, **headers,
                               Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(data)}")

            def silent(self):
                server.ended.wait(60)
                self.close_connection = True

            def drip(self, data, pause, chunk=1):
                """Sends `chunk` bytes at a time until the test ends."""
                for at in range(0, len(data), chunk):
                    if server.ended.wait(pause):
                        break
                    self.wfile.write(data[at:at + chunk])
                self.close_connection = True

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except OSError:  # the client has closed the connection
                    pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                traceback.print_exc()

        self.listener = Listener(("127.0.0.1", 0), To)
        self.base = f"http://127.0.0.1:{self.listener.server_port}/"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def stop(self):
        self.ended.set()
        self.listener.shutdown()
        self.listener.server_close()


class Wrong(Exception):
    pass


class Case:
    """One run, or several in a row, against a server."""

    def __init__(self, program, root, name, wanted):
        self.program, self.root, self.name, self.wanted, self.servers, self.run = program, root, name, wanted, [], None

    def serve(self, answer):
        self.servers.append(Server(answer))
        return self.servers[-1]

    def start(self, answer, code, words=(), file="corpus.txt", mirror=None, mirror_file="corpus.txt", stages="",
              **keys):
        """The first run, with more `stages`; if `code` is 0, its bytes must be those of a run from a local file."""
        server = self.serve(answer)
        if mirror:
            keys["mirrors"] = self.serve(mirror).base + mirror_file
        more = "".join(f", {key}: \"{value}\"" if isinstance(value, str) else f", {key}: {value}"
                       for key, value in keys.items())
        line = text_line("hostile", shards=1).replace('url: "${corpus}"', f'url: "${{corpus}}"{more}') + stages
        self.run = Run(self.program, self.root / self.name, line)
        self.source = ("--set", f"corpus={server.base}{file}")
        self.again(code, words)
        return server

    def again(self, code, words=(), *options):
        began = time.monotonic()
        (self.run.root / "messages").unlink(missing_ok=True)
        found = self.run.finish(*self.source, *options, patience=50)
        said = self.run.messages()
        words = (words,) if isinstance(words, str) else words
        if found != code or not all(word in said for word in words):
            raise Wrong(f"exit {found}, not {code} with {words}, after {time.monotonic() - began:.1f} s:\n{said}")
        if code == 0 and (other := differences(self.wanted, self.run.published(lineage=False))):
            raise Wrong(f"wrong bytes: {other}\n{said}")


def case(function):
    CASES.append(function)
    return function


# ------------------------------------------------------------------------------------ encoded bodies

def coded(coding, body, name="corpus.txt", code=0, words="sends it encoded", **keys):
    """A server that encodes every response."""
    def hold(it):
        it.start(lambda to, _: to.file(body, Content_Encoding=coding), code, words, file=name, **keys)
    return hold


TWICE = ENCODE["gzip"](ENCODE["gzip"](TEXT))
BOMB = ENCODE["gzip"](ENCODE["gzip"](bytes(100 << 20)))
GZIP = ENCODE["gzip"](TEXT)
BAD_SUM = ENCODE["deflate"](TEXT)[:-1] + bytes([ENCODE["deflate"](TEXT)[-1] ^ 1])
CODED = {
    "gzip": coded("gzip", GZIP, words="sends it encoded (gzip)"),
    "x_gzip_in_capitals": coded("X-GZip", GZIP, words="sends it encoded (gzip)"),
    "deflate": coded("deflate", ENCODE["deflate"](TEXT)),
    "deflate_without_its_header": coded("deflate", bare_deflate(TEXT)),
    "br": coded("br", brotli(TEXT)),
    "zstd": coded("zstd", ENCODE["zstd"](TEXT)),
    "twice": coded("gzip, gzip", TWICE),
    "br_in_gzip": coded("br, gzip", ENCODE["gzip"](brotli(TEXT))),
    "four_times": coded("gzip, gzip, gzip, gzip", ENCODE["gzip"](ENCODE["gzip"](TWICE)), code=1,
                        words="more than 3 times"),
    "a_coding_of_nobody": coded("rot13", TEXT, code=1, words="'rot13' is none of gzip, deflate, br and zstd"),
    "compress": coded("compress", b"\x1f\x9d" + TEXT, code=1, words="'compress' is none of"),
    "no_name": coded("\"; what?", TEXT, code=1, words="is none of"),
    "identity": coded("identity", TEXT, words=""),
    "a_name_that_ends_so": coded("gzip", GZIP, name="corpus.txt.gz", words=""),
    "a_name_that_ends_so_and_encoded": coded("gzip, br", brotli(GZIP), name="corpus.txt.gz",
                                             words="sends it encoded (br)"),
    "no_gzip_at_all": coded("gzip", TEXT, code=1, words="it cannot be decoded"),
    "cut_gzip": coded("gzip", GZIP[:-5], code=1, words="truncated"),
    "cut_br": coded("br", brotli(TEXT)[:-1], code=1, words="truncated"),
    "cut_deflate": coded("deflate", ENCODE["deflate"](TEXT)[:-2], code=1, words="truncated"),
    "more_behind_br": coded("br", brotli(TEXT) + b"more", code=1, words="other bytes follow"),
    "wrong_sum": coded("deflate", BAD_SUM, code=1, words="checksum differs"),
    "bomb": coded("gzip, gzip", BOMB, code=1, words="which no text does"),
    "pinned_as_sent": coded("gzip", GZIP, checksum=pin(GZIP), words="checksum is that of the bytes as they are sent"),
    "pinned_as_decoded": coded("br", brotli(TEXT), checksum=pin(TEXT),
                               words="checksum is that of the bytes as they are decoded"),
    "pinned_to_another": coded("gzip", GZIP, checksum=pin(OTHER), code=1, words=("is not the file", pin(TEXT))),
}


@case
def encoded_only_in_the_answer_to_get(it):
    def answer(to, _):
        if to.command == "HEAD":
            to.file(TEXT)
        else:
            to.file(GZIP, Content_Encoding="gzip", etag='"1-gzip"')
    it.start(answer, 0, "sends it encoded (gzip)")
    gets = it.servers[0].gets
    it.again(0)
    if it.servers[0].gets != gets:
        raise Wrong("what is here was fetched again")


@case
def encoded_only_in_the_answer_to_head(it):
    it.start(lambda to, _: to.file(TEXT, **({"Content_Encoding": "gzip"} if to.command == "HEAD" else {})), 0)


@case
def encoded_from_the_second_answer_on(it):
    """Bytes that readers have taken are never continued with other bytes."""
    def answer(to, _):
        if to.command == "HEAD" or to.number == 1:
            to.file(TEXT, stop_at=100_000)
        else:
            to.file(GZIP, Content_Encoding="gzip")
    it.start(answer, 0, ("fetched anew once", "sends it encoded (gzip)"))


@case
def encoded_in_chunks(it):
    it.start(lambda to, _: to.reply(200, GZIP, chunked=True, Content_Encoding="gzip", ETag='"1"'), 0)


@case
def encoded_by_nobody_knows_what(it):
    it.start(lambda to, _: to.reply(200, GZIP, chunked=True, Content_Encoding="gzip"), 2, "neither its size nor")


@case
def encoded_and_broken_off(it):
    it.start(lambda to, _: to.reply(200, GZIP, Content_Encoding="gzip", ETag='"1"',
                                    stop_at=5000 if to.command == "GET" and to.number < 3 else None), 0, **QUICK)


@case
def encoded_and_silent(it):
    def answer(to, _):
        to.reply(200, GZIP[:5000], length=len(GZIP), Content_Encoding="gzip", ETag='"1"')
        if to.command == "GET":
            to.silent()
    it.start(answer, 1, "no byte came", **QUICK)


@case
def encoded_at_one_address(it):
    """Different bytes at the first address do not end the run."""
    it.start(lambda to, _: to.file(ENCODE["gzip"](OTHER), Content_Encoding="gzip"), 0,
             mirror=lambda to, _: to.file(TEXT), checksum=pin(TEXT))


@case
def encoded_at_the_mirror(it):
    it.start(lambda to, _: to.reply(404), 0, mirror=lambda to, _: to.file(brotli(TEXT), Content_Encoding="br"),
             checksum=pin(TEXT))


# ------------------------------------------------------------------------------- wrong sizes and versions

for more in (-1000, 1000):
    def pinned(it, told=len(TEXT) + more):
        it.start(lambda to, _: to.file(TEXT, told=told), 0, checksum=pin(TEXT))

    def not_pinned(it, told=len(TEXT) + more):
        it.start(lambda to, _: to.file(TEXT, told=told), 1, "changed while it was read")

    def at_a_mirror(it, told=len(TEXT) + more):
        it.start(lambda to, _: to.file(TEXT, stop_at=100_000) if to.command == "HEAD" or to.number == 1
                 else to.reply(404), 0, mirror=lambda to, _: to.file(TEXT, told=told), checksum=pin(TEXT))

    def in_chunks(it, told=len(TEXT) + more):
        it.start(lambda to, _: to.file(TEXT, told=told) if to.command == "HEAD" else
                 to.reply(200, TEXT, chunked=True), 0, checksum=pin(TEXT))
    which = "less" if more < 0 else "more"
    for hold, what in ((pinned, "pinned"), (not_pinned, "not_pinned"), (at_a_mirror, "at_a_mirror"),
                       (in_chunks, "in_chunks")):
        hold.__name__ = f"head_says_{which}_{what}"
        case(hold)


def alternating(to, server, tags=itertools.count()):
    to.file(TEXT, etag=f'"{next(tags)}"', stop_at=100_000)


@case
def versions_that_alternate_pinned(it):
    it.start(alternating, 0, checksum=pin(TEXT), **QUICK)


@case
def versions_that_alternate(it):
    it.start(alternating, 1, "changed since this run was planned", **QUICK)


def changed_after(gets, count):
    """The first `gets` GETs get the first `count` bytes of another file with the same size and ETag."""
    def answer(to, _):
        if to.command == "GET" and to.number <= gets:
            to.file(OTHER, stop_at=count)
        else:
            to.file(TEXT)
    return answer


@case
def other_bytes_of_the_same_version_in_the_next_run(it):
    """The partitions that the first run made of the earlier bytes are published by nobody."""
    quiet = quiet_after(200_000, OTHER)
    state = {"answer": quiet}
    it.start(lambda to, server: state["answer"](to, server), 1, "no byte came", **QUICK)
    state["answer"] = lambda to, _: to.file(TEXT)
    it.again(0, ("changed, although its server names the same version", "dropped from byte 0 on, and fetched anew"))


@case
def other_bytes_of_the_same_version_after_a_break(it):
    it.start(changed_after(1, 200_000), 0, "changed, although its server names the same version", **QUICK)


@case
def other_bytes_of_the_same_version_after_each_break(it):
    """Nothing is published while the file changes under its reader; once it is still, the next run does."""
    state = {"still": False}

    def answer(to, _):
        if to.command == "HEAD" or state["still"]:
            to.file(TEXT)
        else:
            to.file((OTHER, TEXT)[to.number % 2], stop_at=200_000)
    it.start(answer, 1, "once more in this run", **QUICK)
    state["still"] = True
    it.again(0)


@case
def no_version_of_the_rest(it):
    """Refused; the next run starts from the beginning."""
    def answer(to, server):
        to.file(TEXT, stop_at=100_000 if to.command == "GET" and to.number == 1 else None,
                etag='"1"' if to.first() is None else None)
    it.start(answer, 1, "neither ETag nor Last-Modified, though the first one had")
    it.again(0)


@case
def a_body_longer_than_it_should_be(it):
    it.start(lambda to, _: to.file(TEXT) if to.command == "HEAD" else
             to.reply(200, TEXT + b"more\n", chunked=True, ETag='"1"'), 1, "and has more")


@case
def head_is_refused(it):
    it.start(lambda to, _: to.reply(405) if to.command == "HEAD" else to.file(TEXT), 0)


# ------------------------------------------------------------------------------------------ silence and breaks

def crawling(pause, chunk, data=TEXT):
    def answer(to, _):
        if to.command == "HEAD":
            to.file(data)
            return
        first = to.first() or 0
        to.reply(206 if first else 200, b"", length=len(data) - first, ETag='"1"',
                 **({"Content_Range": f"bytes {first}-{len(data) - 1}/{len(data)}"} if first else {}))
        to.drip(data[first:], pause, chunk)
    return answer


def quiet_after(count, data=TEXT):
    def answer(to, _):
        if to.command == "HEAD":
            to.file(data)
            return
        first = to.first() or 0
        to.reply(206 if first else 200, data[first:count], length=len(data) - first, ETag='"1"',
                 **({"Content_Range": f"bytes {first}-{len(data) - 1}/{len(data)}"} if first else {}))
        to.silent()
    return answer


@case
def silence(it):
    it.start(quiet_after(100_000), 1, "no byte came", **QUICK)
    if not any(path.stat().st_size >= 100_000 for path in (it.run.work / "sources").iterdir()):
        raise Wrong("the part was not kept")


@case
def silence_and_a_mirror(it):
    it.start(quiet_after(100_000), 0, "going on at", mirror=lambda to, _: to.file(TEXT), checksum=pin(TEXT), **QUICK)


@case
def one_byte_at_a_time_and_a_mirror(it):
    it.start(crawling(0.02, 1), 0, "going on at", mirror=lambda to, _: to.file(TEXT), checksum=pin(TEXT), stall=1)


@case
def a_slow_server_without_a_mirror(it):
    it.start(crawling(0.05, 6000), 0, "it goes on", stall=1, least_rate="1MiB")


@case
def two_slow_mirrors(it):
    it.start(crawling(0.05, 6000), 0, "going on at", mirror=crawling(0.05, 9000), checksum=pin(TEXT), stall=1,
             least_rate="1MiB")


@case
def headers_that_never_end(it):
    def answer(to, _):
        to.wfile.write(b"HTTP/1.1 200 OK\r\n")
        to.drip(b"X-Drip: 1\r\n" * 1000, 0.05)
    it.start(answer, 2, "no whole answer", stall=1)


@case
def breaks_off_at_once_for_ever(it):
    it.start(lambda to, _: to.file(TEXT, stop_at=0 if to.command == "GET" else None), 1, "tried", **QUICK)


@case
def breaks_off_often(it):
    it.start(lambda to, _: to.file(TEXT, stop_at=90_000), 0)


# ---------------------------------------------------------------------------------------------- wrong ranges

BLOCKS = tool(TEXT, "xz", "-c", "-T1", "-1", "--block-size=60KiB")
MIDDLE = len(BLOCKS) // 2
SPOILT = BLOCKS[:MIDDLE] + bytes(64) + BLOCKS[MIDDLE + 64:]


@case
def one_wrong_range(it):
    """The part file is cut at the damaged block and downloaded again from there; the run succeeds."""
    def answer(to, _):
        to.file(SPOILT if to.command == "GET" and to.number == 1 else BLOCKS)
    server = it.start(answer, 0, ("fetched anew once", "dropped from byte"), file="corpus.txt.xz")
    if server.gets != 2:
        raise Wrong(f"asked {server.gets} times")


@case
def one_wrong_range_that_several_stages_read(it):
    """Each of them reads the new bytes, and none waits for another for ever."""
    stages = "".join(f"  again{number}: {{ type: decompress, input: source, partition: 32KiB }}\n" for number in range(3))

    def answer(to, _):
        to.file(SPOILT if to.command == "GET" and to.number == 1 else BLOCKS)
    it.start(answer, 0, "fetched anew once", file="corpus.txt.xz", stages=stages)


@case
def one_wrong_range_of_an_earlier_run(it):
    """Outputs of the file that exist are invalidated."""
    def answer(to, _):
        if to.command == "GET" and to.number == 2:
            to.reply(404)
        else:
            to.file(BLOCKS, stop_at=len(BLOCKS) - 2000 if to.command == "GET" and to.number == 1 else None)
    it.start(answer, 1, "answers 404", file="corpus.txt.xz")
    part = next(path for path in (it.run.work / "sources").iterdir() if path.suffix == ".xz")
    with open(part, "r+b") as file:
        file.seek(MIDDLE)
        file.write(bytes(64))
    it.again(0, "fetched anew")


@case
def one_wrong_range_without_borders(it):
    packed = gzip.compress(TEXT, mtime=0)
    spoilt = packed[:15_000] + bytes(8) + packed[15_008:]
    it.start(lambda to, _: to.file(spoilt if to.command == "GET" and to.number == 1 else packed), 0,
             "dropped from byte 0", file="corpus.txt.gz")


@case
def wrong_ranges_for_ever(it):
    """Downloaded again once, over all runs; the bytes are kept."""
    server = it.start(lambda to, _: to.file(SPOILT), 1, "the server's file is damaged", file="corpus.txt.xz")
    gets = server.gets
    it.again(1, "the server's file is damaged")
    if gets != 2 or server.gets != gets:
        raise Wrong(f"asked {gets} times, and then {server.gets - gets}")


@case
def another_version_after_wrong_ranges(it):
    tag = ['"1"']
    it.start(lambda to, _: to.file(SPOILT if tag[0] == '"1"' else BLOCKS, etag=tag[0]), 1, "file is damaged",
             file="corpus.txt.xz")
    tag[0] = '"2"'
    it.again(0)


@case
def no_such_range(it):
    """The part file is dropped, and the whole file is requested once."""
    def answer(to, _):
        if to.first() is not None:
            to.reply(416, Content_Range=f"bytes */{len(TEXT)}")
        else:
            to.file(TEXT, stop_at=100_000 if to.command == "GET" and to.number == 1 else None)
    it.start(answer, 0, "fetched anew once")


@case
def no_range_ever(it):
    def answer(to, _):
        if to.first() is not None:
            to.reply(416)
        else:
            to.file(TEXT, stop_at=100_000)
    it.start(answer, 1, "is there no more")


# ---------------------------------------------------------------------------------------- other kinds of responses

@case
def a_page_in_place_of_the_file(it):
    it.start(lambda to, _: to.reply(200, b"<html>log in</html>", Content_Type="text/html"), 2, "a web page")


@case
def a_page_in_place_of_the_body(it):
    it.start(lambda to, _: to.file(TEXT) if to.command == "HEAD" else
             to.reply(200, b"<html>log in</html>", Content_Type="text/html"), 1, "a web page")


@case
def a_page_and_a_mirror(it):
    it.start(lambda to, _: to.reply(200, b"<html>log in</html>", Content_Type="text/html"), 0,
             mirror=lambda to, _: to.file(TEXT), checksum=pin(TEXT))


@case
def redirects_in_a_circle(it):
    it.start(lambda to, _: to.reply(302, Location="/corpus.txt?again"), 2, "redirects more than 10 times")


@case
def a_part_of_another_location(it):
    def answer(to, _):
        if to.first():
            to.reply(206, TEXT[500:900], ETag='"1"', Content_Range=f"bytes {to.first() + 1}-{len(TEXT) - 1}/{len(TEXT)}")
        else:
            to.file(TEXT, stop_at=100_000)
    it.start(answer, 1, "and not with those from")


@case
def a_part_that_does_not_say_which(it):
    it.start(lambda to, _: to.reply(206, TEXT[1000:], ETag='"1"') if to.first() else to.file(TEXT, stop_at=100_000),
             1, "does not say which")


@case
def a_mirror_behind_wrong_bytes(it):
    it.start(lambda to, _: to.file(OTHER), 0, "has another checksum", mirror=lambda to, _: to.file(TEXT),
             checksum=pin(TEXT))


@case
def wrong_bytes_and_no_mirror(it):
    it.start(lambda to, _: to.file(OTHER), 1, (pin(TEXT), pin(OTHER)), checksum=pin(TEXT))


@case
def busy_for_a_while(it):
    it.start(lambda to, server: to.file(TEXT) if to.command == "HEAD" or to.number > 2 else
             to.reply(503, Retry_After="0"), 0)


def main():
    program, only = Path(sys.argv[1]).resolve(), set(sys.argv[2:])
    for name, hold in CODED.items():
        hold.__name__ = f"sent_as_{name}"
        CASES.append(hold)
    chosen = [hold for hold in CASES if not only or hold.__name__ in only]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        local = root / "corpus.txt"
        local.write_bytes(TEXT)
        first = Run(program, root / "local", text_line("hostile", shards=1))
        if first.finish("--set", f"corpus={local}") != 0:
            sys.exit(f"FAILED: the run from a file\n{first.messages()}")
        wanted = first.published(lineage=False)
        said = io.StringIO()

        def play(hold):
            it, began = Case(program, root, hold.__name__, wanted), time.monotonic()
            try:
                hold(it)
            except Exception as wrong:  # a failure of one case does not stop the others
                said.write(f"FAILED: {hold.__name__}: {wrong}\n")
            else:
                print(f"ok: {hold.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            finally:
                for server in it.servers:
                    server.stop()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(play, chosen))
        print(f"{len(chosen)} cases")
        if said.getvalue():
            sys.exit(said.getvalue())


if __name__ == "__main__":
    main()
