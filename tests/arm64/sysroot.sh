#!/usr/bin/env bash
# sysroot.sh DIR: unpacks Debian's arm64 packages of the libraries in packages.txt, with all that they depend on, into
# DIR. `dpkg-query --root=DIR` tells the package of a file. No rights of root are needed. If DIR is there already and
# was made from the same list of libraries: nothing happens.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source packaging/private_apt.sh

root=$(realpath -m "$1")
apt=$root.apt
export LC_ALL=C.UTF-8

mapfile -t libraries < <(awk '$1 ~ /^(build|package)$/ && $2 ~ /-(dev|pic)$/ && $2 !~ /^dpkg/ {print $2}' packages.txt)
wanted=$(sha256sum tests/arm64/sysroot.sh && printf '%s\n' "${libraries[@]}")
[[ -f $root/made-from && $(<"$root/made-from") == "$wanted" ]] && exit
rm -rf "$root" "$root.part"
dpkg=$root.part/var/lib/dpkg
mkdir -p "$dpkg/info"
private_apt "$apt" arm64
apt-get update
apt-get install -y --no-install-recommends --download-only "${libraries[@]}"
for package in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package" "$root.part"
  dpkg -f "$package" >>"$dpkg/status"
  printf 'Status: install ok unpacked\n\n' >>"$dpkg/status"
  dpkg --fsys-tarfile "$package" | tar -t | sed -E 's|^\./$|/.|; s|^\.||; s|(.)/$|\1|' >"$dpkg/info/$(dpkg -f "$package" Package).list"
done

# A link with an absolute path would lead out of the directory.
find "$root.part" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$root.part$(readlink "$link")" "$link"
done
rm -r "$apt"
mv "$root.part" "$root"
printf '%s\n' "$wanted" >"$root/made-from"
