#!/usr/bin/env bash
# Measures the programs in a folder (build/bench/bin) and compares with the floors: bench/README.md.
#   PIPE_BENCH_CORPUS=FILE.xz   measure with this text instead of a generated one
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/run.py "${1:?usage: bench/run.sh BIN}" --python .venv-oracle/bin/python --peers .venv-peers/bin/python --trainer .pipe/trainer/bin/python ${PIPE_BENCH_CORPUS:+--corpus "$PIPE_BENCH_CORPUS"} "${@:2}"
