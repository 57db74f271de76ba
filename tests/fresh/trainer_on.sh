#!/usr/bin/env bash
# trainer_on.sh SUITE READER TEST...: tests of the trainer with the Python of the Debian SUITE, in an environment that is
# made as `pipe trainer setup` makes it. READER: libpipe_reader.so, which is C alone. As root, by sudo if need be, with debootstrap.
set -euo pipefail
((EUID == 0)) || exec sudo "${BASH_SOURCE[0]}" "$@"
suite=$1 reader=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/fresh/in_root.sh

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=ca-certificates,python3-venv "$suite" "$root" ${FRESH_MIRROR:+"$FRESH_MIRROR"} >/dev/null
mkdir -p "$root/place/plugins/train"
cp -r plugins/train/python "$root/place/plugins/train/"
cp -r tests "$root/place/"
cp "$reader" "$root/place/"
use_root "$root" 'python3 --version && python3 -m venv environment
  install() {
    environment/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps -r "$1"
  }
  install plugins/train/python/installer.txt && install plugins/train/python/requirements-cpu.txt'
for test in "${@:3}"; do
  printf '%s\n' "$test"
  # XLA compiles faster and slower code, as in the other tests of the trainer.
  use_root "$root" "export PIPE_READER_LIBRARY=/place/${reader##*/} JAX_PLATFORMS=cpu
    XLA_FLAGS='--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1' \
      environment/bin/python tests/trainer/test_$test.py"
done
