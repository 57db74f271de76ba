#!/usr/bin/env bash
# sysroot.sh DIR: unpacks Debian's arm64 packages of the libraries in packages.txt, with all that they depend on, into
# DIR. apt works in a directory of its own beside DIR, with the sources and keys of this machine: its packages stay as
# they are, and no rights of root are needed. If DIR is there already and the list of libraries is the same: nothing
# happens.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

root=$(realpath -m "$1")
apt=$root.apt
export LC_ALL=C.UTF-8

mapfile -t libraries < <(awk '$1 == "build" && $2 ~ /-dev$/ {print $2}' packages.txt)
wanted=$(printf '%s\n' "${libraries[@]}")
[[ -f $root/made-from && $(<"$root/made-from") == "$wanted" ]] && exit
rm -rf "$root" "$root.part" "$apt"
mkdir -p "$root.part" "$apt/state/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"  # nothing is installed there, so apt fetches each dependency

# apt's settings of this machine, such as a proxy, without the commands that it would start afterwards.
{
  apt-config dump | grep -vE '^(APT::Architectures?|Dir::(State|Cache)|DPkg::|[A-Za-z:-]*(Invoke|AptCli::Hooks))\b'
  cat <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Debug::NoLocking "1";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Log "$apt";
END
} >"$apt/apt.conf"
export APT_CONFIG=$apt/apt.conf
apt-get update
apt-get install -y --no-install-recommends --download-only "${libraries[@]}"
for package in "$apt"/cache/archives/*.deb; do dpkg -x "$package" "$root.part"; done

# A link with an absolute path would lead out of the directory.
find "$root.part" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$root.part$(readlink "$link")" "$link"
done
rm -r "$apt"
mv "$root.part" "$root"
printf '%s\n' "$wanted" >"$root/made-from"
