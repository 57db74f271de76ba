#!/usr/bin/env bash
# set_up.sh [PACKAGE...]: a bare Debian 12 becomes a machine for workers. Builds this tree, installs it below
# /usr/local, and removes the packages that only the build needs. Each PACKAGE is installed and stays, such as
# mecab-ipadic-utf8, a dictionary of segment_words. As root, on a machine that has no other purpose, such as the
# container of Containerfile.
#
#   TRAINER=cpu|cuda|tpu   for pipelines that train: the trainer's environment, in /usr/local/lib/pipe/trainer
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

((EUID == 0)) || {
  echo 'set_up.sh: must be root, to install packages of Debian' >&2
  exit 2
}
export DEBIAN_FRONTEND=noninteractive
stay=(ca-certificates "$@")  # certificates: buckets are servers with TLS
[[ -z ${TRAINER-} ]] || stay+=(python3 python3-venv)
apt-get update
apt-get install -y --no-install-recommends "${stay[@]}"
before=$(apt-mark showmanual | sort)

apt-get install -y --no-install-recommends git  # tells the commit, for `pipe --version`
./dev build
cmake --install build/release --prefix /usr/local

# The packages of libraries that the program and its plugins load stay, and those that were there before.
comm -13 - <(apt-mark showmanual | sort) <<<"$before" | xargs apt-mark auto
find /usr/local/bin/pipe /usr/local/lib/pipe/plugins \( -name pipe -o -name '*.so' \) -type f -exec ldd {} + |
  sed -nE 's|.* => /.*/([^/ ]+) .*|*/\1|p' | sort -u | xargs dpkg-query -S | cut -d: -f1 | sort -u |
  xargs apt-mark manual
apt-get autoremove -y --purge -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false

[[ -z ${TRAINER-} ]] || /usr/local/bin/pipe trainer setup --dir /usr/local/lib/pipe/trainer --extra "$TRAINER"
apt-get clean
rm -rf build ~/.cache /var/lib/apt/lists/*
/usr/local/bin/pipe --version
