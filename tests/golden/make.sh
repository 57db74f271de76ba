#!/usr/bin/env bash
# make.sh BUILD NAME: makes the archives of tests/golden/NAME by the programs of a release, which BUILD has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1 name=$2
python3 tests/cli/released_work.py "$build/bin/pipe" make "$name"
python3 tests/cli/released_package.py "$build/bin/pipe" make "$name"
python3 tests/cli/released_home.py "$build/bin/pipe" "$build/bin/fake_gcs" make "$name"
python3 tests/trainer/released_checkpoints.py "$build/bin/pipe" "$build/bin/fake_gcs" .pipe/trainer make "$name"
