#!/usr/bin/env bash
# Makes the packages and uses each where no compiler and no git is: the tarball and the wheel on a Debian 12 and on a Debian
# 13, from text to a verified data set; the Python of the packages there, with the trainer's libraries; and the image in a
# root of its own, where the command of its Containerfile adds a dictionary and a trainer's environment, and a worker makes
# a data set and a tokenizer by the command of a job of Kubernetes. `./dev fresh packages` does this on a fresh Debian 12.
# As root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/fresh/in_root.sh

./dev package
packages=$PWD/build/packages
roots=$(mktemp -d)
trap 'rm -rf "$roots"' EXIT

make_text() {
  mkdir -p "$1/place"
  local number
  for number in {1..2000}; do printf '%d匹の猫が鳴く。\n犬も鳴く。\n\n' "$number"; done >"$1/place/text.txt"
}

# From text to a verified data set, by the program in PIPE with its own pipeline.
use='! command -v g++ && ! command -v git &&
  "$PIPE" run pipelines/quickstart.yaml --set corpus=text.txt --set out=out --until text &&
  "$PIPE" verify out/quickstart_ja/1.0.0'

for suite in bookworm trixie; do
  root=$roots/$suite
  debootstrap --variant=minbase --include=ca-certificates $suite "$root" ${FRESH_MIRROR:+"$FRESH_MIRROR"} >/dev/null
  make_text "$root"
  cp "$packages"/*.tar.gz "$packages"/*.whl "$root/place/"
  began=$SECONDS
  use_root "$root" "tar xf text2lm-[0-9]*.tar.gz && PIPE=\$(echo text2lm-*-linux-*/bin/pipe) && $use &&
    for file in text2lm-ipadic-*.tar.gz text2lm-ko-dic-*.tar.gz; do tar xf \$file -C text2lm-*-linux-*/; done &&
    \"\$PIPE\" doctor"
  printf '%s: tarball, %d s\n' $suite $((SECONDS - began))
  began=$SECONDS
  cp tests/fresh/use_python.sh "$root/place/"
  use_root "$root" 'bash use_python.sh'
  printf '%s: Python, %d s\n' $suite $((SECONDS - began))
  use_root "$root" "apt-get update && apt-get install -y --no-install-recommends python3-venv" >/dev/null
  began=$SECONDS
  use_root "$root" "rm -r out .pipe && python3 -m venv venv && venv/bin/pip install --no-index ./*.whl &&
    PIPE=venv/bin/pipe && venv/bin/text2lm --version && $use && venv/bin/pipe doctor"
  printf '%s: wheel, %d s\n' $suite $((SECONDS - began))
  # From nothing to a trained step, with the pages in Japanese as the text; pip has no cache here.
  cat README.ja.md */README.ja.md */*/README.ja.md >"$root/place/ja.txt"
  began=$SECONDS
  use_root "$root" "rm -r venv .pipe && python3 -m venv venv && venv/bin/pip install --no-index ./*.whl"
  printf '%s: first step: %d s, installed\n' $suite $((SECONDS - began))
  use_root "$root" 'venv/bin/pipe trainer setup'
  printf '%s: first step: %d s, the trainer has its environment\n' $suite $((SECONDS - began))
  use_root "$root" 'venv/bin/pipe run pipelines/quickstart.yaml --set corpus=ja.txt --set out=first \
    --set stages.tokenizer.vocab_size=auto --set stages.train.steps=1 && venv/bin/pipe verify first/runs/train-*'
  printf '%s: first step: %d s, a model of one step is exported and verified\n' $suite $((SECONDS - began))
done

image=$roots/image
python3 tests/packaging/unpack_image.py "$packages"/*.oci.tar "$image"
[[ -s $image/etc/ssl/certs/ca-certificates.crt ]]
make_text "$image"
began=$SECONDS
use_root "$image" "PIPE=/usr/local/bin/pipe && $use"
printf 'image: %d s\n' $((SECONDS - began))
du -sh "$image"
# The command of the Containerfile, with a shell of the image as an engine would start it.
command=$(sed -n '/^RUN /,$p' cli/submit/image/Containerfile | sed 's/^RUN //; s/\\$//')
use_root "$image" "export PACKAGES=mecab-ipadic-utf8 TRAINER=cpu; $command"
du -sh "$image"
mapfile -t words < <(sed -nE '/^ *command:$/,/^ *resources:$/s|^ *- "(.*)"$|\1|p' tests/golden/submit/kubernetes-least.yaml)
words=("${words[@]/#gs:*//place/plan}")
cat >"$image/place/pipeline.yaml" <<'END'
pipe: 1
name: image
stages:
  source: { type: download, url: text.txt }
  lines: { type: decompress, input: source, partition: 16KiB }
  clean: { type: normalize, input: lines, form: nfkc }
  docs: { type: split, input: clean, splits: { train: rest, validation: 0.1 } }
  text: { type: write_tfds, input: docs, name: cats, version: 1.0.0, shards: 2, out: made }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 290, out: made/tokenizer }
END
# Training uses the libraries of the folder in Python, where all their symbols must be found.
cat >"$image/place/train.yaml" <<'END'
pipe: 1
name: train
stages:
  source: { type: download, url: text.txt }
  lines: { type: decompress, input: source }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.1 } }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 290, out: trained/tokenizer }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 64, out: trained/packed }
  train:
    type: train
    plugin: train
    inputs: { data: packed, tokenizer: tokenizer }
    config: { preset: tiny }
    steps: 4
    prompts: [猫]
    environment: /usr/local/lib/pipe/trainer
    out: model
END
mkdir -p "$image/scratch"
use_root "$image" "pipe plan pipeline.yaml -o plan && $(printf '%q ' "${words[@]}") &&
  pipe verify made/cats/1.0.0 made/tokenizer && pipe plugins && pipe trainer check --dir /usr/local/lib/pipe/trainer && pipe run train.yaml && pipe verify model/runs/train-*"
printf 'image: a worker and a training\n'
