#!/usr/bin/env bash
# make.sh BUILD [FOLDER]: makes the archives of tests/golden/VERSION by the programs of a release, which BUILD has. With FOLDER,
# an absolute path, it is a trial by any program, and the archives go there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1 told=$("$1/bin/pipe" --version)
version=$(sed -n 's/^pipe //p' <<<"$told")
if [[ $# == 1 && ( $told != *"commit $(git rev-parse --short=12 HEAD)"$'\n'* || -e tests/golden/$version ) ]]; then
  echo "make.sh: commit everything, build, and make the archives of a release once; $build/bin/pipe is"$'\n'"$told" >&2
  exit 1
fi
# Archives that are not complete are no release's.
made=${2:-$(mktemp -d)/$version}
python3 tests/cli/released_work.py "$build/bin/pipe" make "$made"
python3 tests/cli/released_package.py "$build/bin/pipe" make "$made"
python3 tests/cli/released_home.py "$build/bin/pipe" "$build/bin/fake_gcs" make "$made"
python3 tests/trainer/released_checkpoints.py "$build/bin/pipe" "$build/bin/fake_gcs" .pipe/trainer make "$made"
[[ $# == 2 ]] || mv "$made" tests/golden/
