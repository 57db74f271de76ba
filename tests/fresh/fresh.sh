#!/usr/bin/env bash
# fresh.sh [COMMAND...]: runs each command of `./dev help` first on a fresh machine: a root of Debian 12 made by
# debootstrap, with bash, git and certificates, and the committed state of this clone in /project. `build` and
# `quickstart` run on Debian 13 as well, and tests/fresh/packages.sh uses each package. Prints a line for each; the output
# is in build/log/fresh-SUITE-COMMAND.log; exit code 1 if one failed. Long commands get their shortest arguments.
#
#   COMMAND            only these; SUITE:COMMAND, such as trixie:build, on this suite; packages: each package used
#   FRESH_ROOT=DIR     location of the roots, some GB each; default: build/fresh
#   FRESH_MIRROR=URL   mirror of Debian; default: that of debootstrap
#   FRESH_PREPARE=CMD  runs first, with the path of each new root, for example for a proxy's certificate
#   FRESH_KEEP=1       keeps the roots of commands that succeeded; those that failed are kept until they run again
#
# Runs as root, for debootstrap, chroot and mounts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/fresh/in_root.sh

place=$(realpath -m "${FRESH_ROOT:-build/fresh}")
logs=$PWD/build/log
failed=()

fail() {
  printf 'fresh: %s\n' "$*" >&2
  exit 2
}

# minutes_of COMMAND: maximum time on two cores, most of it for compiling.
minutes_of() {
  case $1 in
    help) echo 1 ;;
    dictionaries | lock-oracle | lock-trainer) echo 20 ;;
    build | lint) echo 60 ;;
    quickstart | pictures | package | packages) echo 90 ;;
    *) echo 180 ;;
  esac
}

# words_of COMMAND: the command with the arguments that make it short; empty: this script does not know it.
words_of() {
  case $1 in
    help | build | check | dictionaries | quickstart | pictures | lint | clang | package | arm64 | oldest | lock-oracle | lock-trainer)
      echo "./dev $1" ;;
    test | asan) echo "./dev $1 ^house" ;;
    fuzz) echo './dev fuzz 1' ;;
    bench) echo './dev bench --only planning --pairs 1' ;;
    tpu-fit) echo './dev tpu-fit 0' ;;
    soak) echo './dev soak 1' ;;
    fresh) echo './dev fresh --list' ;;
    packages) echo 'tests/fresh/packages.sh' ;;
  esac
}

# make_base SUITE
make_base() {
  local base=$place/$1.base
  [[ -e $base.made ]] && return
  rm -rf "$base"
  mkdir -p "$place"
  debootstrap --variant=minbase --include=ca-certificates,git,bash "$1" "$base" ${FRESH_MIRROR:+"$FRESH_MIRROR"} &&
    { [[ -z ${FRESH_PREPARE-} ]] || "$FRESH_PREPARE" "$base"; } && touch "$base.made"
}

# run_in ROOT WORD...: runs these words in /project of this root.
run_in() {
  rm -rf "$1/project" && git clone -q . "$1/project" && in_root "$1" /project "${@:2}"
}

# try_one SUITE COMMAND
try_one() {
  local root=$place/$1-$2 log=$logs/fresh-$1-$2.log start=$SECONDS code=0 words
  read -ra words <<<"$(words_of "$2")"
  printf '%-10s %-34s ' "$1" "${words[*]}"
  rm -rf "$root"
  {
    make_base "$1" && cp -a --reflink=auto "$place/$1.base" "$root" &&
      timeout -k 30 "$(minutes_of "$2")m" bash -c 'run_in "$@"' _ "$root" "${words[@]}"
  } >"$log" 2>&1 </dev/null || code=$?
  if ((code)); then
    printf 'FAILED (%d, %d s): %s, in %s\n' "$code" $((SECONDS - start)) "$log" "$root"
    tail -n 8 "$log" | sed 's/^/  /'
    failed+=("$1:$2")
  else
    printf 'done (%d s)\n' $((SECONDS - start))
    [[ -n ${FRESH_KEEP-} ]] || rm -rf "$root"
  fi
}

mapfile -t commands < <(./dev help | sed -nE 's/^  ([a-z][a-z0-9-]*)( .*)?$/\1/p' | uniq)
tries=(bookworm:help)
for command in "${commands[@]}"; do
  [[ -n $(words_of "$command") ]] || fail "./dev help has a command \"$command\" that this script does not know"
  tries+=("bookworm:$command")
done
tries+=(trixie:build trixie:quickstart bookworm:packages)
if [[ ${1-} == --list ]]; then
  printf '%s\n' "${tries[@]}"
  exit
fi
((EUID == 0)) || fail 'must be root, for debootstrap and chroot'
command -v debootstrap >/dev/null || fail 'debootstrap is missing; install it: apt-get install -y debootstrap'
if (($#)); then
  wanted=()
  for command; do
    [[ $command == *:* ]] || command=bookworm:$command
    [[ -n $(words_of "${command#*:}") ]] || fail "there is no command \"${command#*:}\"; --list lists them"
    wanted+=("$command")
  done
  tries=("${wanted[@]}")
fi
mkdir -p "$logs"
export -f in_root run_in
for try in "${tries[@]}"; do try_one "${try%%:*}" "${try#*:}"; done
((${#failed[@]} == 0)) || {
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
}
