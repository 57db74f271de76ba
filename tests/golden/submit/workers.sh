#!/bin/bash
# Workers of cc100_ja; `pipe submit` made this file.
worker=(/usr/local/bin/pipe worker --plan 'gs://corpus/it'\''s here' --next --scratch /scratch)
workers=20
most=100

keep() {
  local number=$1 starts=0 code
  while :; do
    "${worker[@]}"
    code=$?
    [ "$code" = 75 ] || [ "$code" -gt 128 ] || return "$code"
    [ "$starts" -lt "$most" ] || return "$code"
    starts=$((starts + 1))
    if [ "$code" = 75 ]; then
      echo "worker $number: ended with 75 (try again), started again, $starts of $most" >&2
      sleep 5
    else
      echo "worker $number: ended by signal $((code - 128)), started again, $starts of $most" >&2
      sleep 1
    fi
  done
}

loops=()
for ((number = 0; number < workers; number++)); do
  keep "$number" &
  loops+=($!)
done
result=0
for loop in "${loops[@]}"; do
  wait "$loop"
  code=$?
  [ "$result" != 0 ] || result=$code
done
exit "$result"
