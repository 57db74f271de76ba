#!/usr/bin/env bash
# Makes this machine, a bare Debian 12, one for workers, as a container image is made. Then a worker makes a data set
# and a tokenizer by the command that a job of Kubernetes has, with what the image has. `./dev fresh image` does this in
# a fresh root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

TRAINER=cpu cli/submit/image/set_up.sh
for left in g++ cmake git; do
  ! command -v $left || { echo "$left is left in the image"; exit 1; }
done
du -shx --exclude=/project --exclude=/tmp /

mkdir -p /scratch /tmp/run
job=tests/golden/submit/kubernetes-least.yaml
mapfile -t words < <(sed -nE '/^ *command:$/,/^ *resources:$/s|^ *- "(.*)"$|\1|p' $job)
cd /tmp/run
words=("${words[@]/#gs:*/$PWD/plan}")
for number in {1..2000}; do printf '%d匹の猫が鳴く。\n犬も鳴く。\n\n' "$number"; done >text.txt
cat >pipeline.yaml <<'END'
pipe: 1
name: image
stages:
  source: { type: download, url: text.txt }
  lines: { type: decompress, input: source, partition: 16KiB }
  clean: { type: normalize, input: lines, form: nfkc }
  docs: { type: split, input: clean, splits: { train: rest, validation: 0.1 } }
  text: { type: write_tfds, input: docs, name: cats, version: 1.0.0, shards: 2, out: out }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 290, out: out/tokenizer }
END
pipe plan pipeline.yaml -o plan
printf '$'
printf ' %s' "${words[@]}"
printf '\n'
"${words[@]}"
pipe verify out/cats/1.0.0 out/tokenizer
pipe plugins
pipe trainer check --dir /usr/local/lib/pipe/trainer
