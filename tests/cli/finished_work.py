#!/usr/bin/env python3
"""Finished outputs of a run that failed stay valid: the next run finds them up to date.

    finished_work.py PIPE [SCENARIO...]
"""

import gzip
import random
import sys

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, corpus
from web_server import WebServer

TEXT = corpus(documents=4000, lines=6)
# Noise between the documents, so that the compressed bytes are about as many as the decoded ones.
PACKED = gzip.compress(TEXT + random.Random(5).randbytes(1_500_000).hex(" ", 40).replace(" ", "\n\n").encode(), 1)
PAGE = (200, {"Content-Type": "text/html"})


def odd_answer(answer, words):
    """A server breaks off, then sends one answer of another kind."""
    server = WebServer(PACKED, name="corpus.txt.gz")
    try:
        with Sandbox() as sandbox:
            sandbox.options = KEEPING
            sandbox.stages["source"]["url"] = server.url
            sandbox.stages["lines"]["partition"] = "64KiB"
            transfers = iter([2 * len(PACKED) // 3])

            def breaks():
                most = next(transfers, len(PACKED))
                if most < len(PACKED):
                    server.answers = {"/corpus.txt.gz": answer}
                return most
            server.break_every = breaks
            first = sandbox.run()
            check(first.code == 1, f"exit {first.code}\n{first.err}")
            check_says(first.err, words)
            made = first.of("partitions", "text")
            check(made > 4 and not first.invalidated, f"of little text, or taken back: {first.counted()}")
            server.answers = {}
            second = sandbox.ok()
            whole = len([None for _ in sandbox.partition_outputs("text")[-1].glob("0000-*")])
            check(second.of("partitions", "text") == whole - made, f"{made} of {whole}, then {second.counted()}")
            return f"{first.counted()}; then {second.counted()}"
    finally:
        server.stop()


def a_web_page_for_a_range():
    return odd_answer(PAGE, "answers with a web page")


def a_refusal_for_a_range():
    return odd_answer((403, {}), "403")


def a_long_line_that_may_not_be():
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(TEXT + b"x" * 100_000 + b"\n\n" + TEXT)
        sandbox.stages["lines"].update(partition="64KiB", max_record_bytes="64KiB", on_long="fail")
        first = sandbox.run()
        check(first.code == 1, f"exit {first.code}\n{first.err}")
        check_says(first.err, "longer than max_record_bytes")
        check(first.of("partitions", "text") > 4 and not first.invalidated, first.counted())
        second = sandbox.run()
        check(second.code == 1 and second.of("partitions") == 0 and not second.invalidated, second.counted())
        return f"{first.counted()}; then {second.counted()}"


SCENARIOS = [a_web_page_for_a_range, a_refusal_for_a_range, a_long_line_that_may_not_be]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
