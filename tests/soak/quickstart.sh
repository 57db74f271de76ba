#!/usr/bin/env bash
# quickstart.sh PIPE CORPUS [MINUTES]: the quick start up to the training, killed with SIGKILL at random moments and
# resumed until it ends, repeatedly; each time the published bytes must equal those of an undisturbed run. Prints a line
# per round; exits 1 at the first difference and keeps its directory.
set -euo pipefail

pipe=$1 corpus=$2 minutes=${3:-10}
[[ $minutes =~ ^[0-9]+$ ]] || { printf 'soak: "%s" is no whole number of minutes\n' "$minutes" >&2; exit 2; }
root=$(mktemp -d)
pipeline=$root/pipeline.yaml
sed '/^  train:/,$d' pipelines/quickstart.yaml >"$pipeline"  # the times in the output of a training differ each time
kills=0 rounds=0

fail() {
  printf 'soak: %s; everything is in %s\n' "$*" "$root" >&2
  exit 1
}

# start DIRECTORY: starts the pipeline there in the background, as process $child.
start() {
  "$pipe" run "$pipeline" --work "$1/work" --set corpus="$corpus" --set out="$1/out" >>"$1.log" 2>&1 &
  child=$!
}

# Names and digests of the published files; those of .pipe are about the run.
published() {
  (cd "$1/out" && find . -name .pipe -prune -o -type f -print0 | sort -z | xargs -0 sha256sum)
}

milliseconds() { date +%s%3N; }

mkdir "$root/undisturbed"
began=$(milliseconds)
start "$root/undisturbed"
wait "$child" || fail 'the undisturbed run failed'
whole=$(($(milliseconds) - began + 1))
published "$root/undisturbed" >"$root/wanted"
[[ -s $root/wanted ]] || fail 'the undisturbed run published nothing'
printf 'undisturbed: %d ms, %d files\n' "$whole" "$(wc -l <"$root/wanted")"

while ((SECONDS < minutes * 60)); do
  directory=$root/round
  rm -rf "$directory" "$directory.log"
  mkdir "$directory"
  killed=0
  # A start is killed within the time of a whole run; the sixth start may end by itself.
  while :; do
    start "$directory"
    if ((killed < 5)); then
      delay=$((RANDOM * 32768 + RANDOM))
      sleep "$(printf '%d.%03d' $((delay % whole / 1000)) $((delay % whole % 1000)))"
      kill -KILL "$child" 2>/dev/null || true
    fi
    code=0
    wait "$child" 2>/dev/null || code=$?
    ((code == 137)) || break
    killed=$((killed + 1))
  done
  ((code == 0)) || fail "round $((rounds + 1)): exit code $code after $killed kills"
  published "$directory" | diff -u "$root/wanted" - >"$root/difference" ||
    fail "round $((rounds + 1)): other bytes after $killed kills: $(grep -c '^[-+][^-+]' "$root/difference") differences"
  kills=$((kills + killed)) rounds=$((rounds + 1))
  printf 'round %d: killed %d times, same bytes\n' "$rounds" "$killed"
done

((kills)) || fail "no kill met a running program in $rounds rounds"
printf '%d rounds, %d kills, same bytes in all\n' "$rounds" "$kills"
rm -rf "$root"
