#!/usr/bin/env bash
# python.sh DIR: makes in DIR a CPython that runs where it is unpacked, as text2lm-python-VERSION-linux-MACHINE.tar.gz, for
# machines without a Python that the trainer can use (README.md). The source is that of Debian 12, with its patches; apt
# checks its signature. If DIR is there already and was made from the same files and versions: nothing happens. On Debian 12.
set -euo pipefail
to=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
source private_apt.sh

export LC_ALL=C.UTF-8
libraries=(libssl-dev libffi-dev zlib1g-dev libbz2-dev liblzma-dev libexpat1-dev)
private_apt "$to.apt" "$(dpkg --print-architecture)" bookworm
apt-get update
made_from=$(sha256sum python.sh interpreter.py licences.py symbols.py elf.py tarball.py private_apt.sh runtime/*
  dpkg-query -W gcc-12 libc6-dev "${libraries[@]}"
  apt-cache showsrc python3.11 | grep -E '^Version:' | sort)
[[ -f $to/made-from && $(<"$to/made-from") == "$made_from" ]] && rm -r "$to.apt" && exit
rm -rf "$to" "$to.sources"
mkdir -p "$to" "$to.sources"

cd "$to.sources"
fetch_source python3.11 --skip-patches
packaging=$OLDPWD
source=$to.sources/python3.11
cd "$source"
# Without the patches about the places of files in Debian: this Python is not a part of the system.
places='deb-|distutils-|mangle-|sysconfig|tkinter-import|gdbm-import|setup-modules|langpack-gettext|multiarch|destshared-location|ensurepip-disabled'
while read -r patch _; do
  [[ ! $patch || $patch =~ ^(#|$places) ]] || patch --strip=1 --silent --no-backup-if-mismatch <"debian/patches/$patch"
done <debian/patches/series

# Modules with libraries of others are in the program itself, with the static libraries, whose names nobody else sees: a
# wheel has libraries of the same names. No module is built of a library that only some machines have.
cp "$packaging"/runtime/{arc4random,certificates}.c Modules/
cat >Modules/Setup.local <<'END'
*static*
_ssl _ssl.c certificates.c -l:libssl.a -l:libcrypto.a
_hashlib _hashopenssl.c
_ctypes _ctypes/_ctypes.c _ctypes/callbacks.c _ctypes/callproc.c _ctypes/stgdict.c _ctypes/cfield.c -DHAVE_FFI_PREP_CIF_VAR -DHAVE_FFI_PREP_CLOSURE_LOC -DHAVE_FFI_CLOSURE_ALLOC -l:libffi_pic.a
binascii binascii.c -DUSE_ZLIB_CRC32
zlib zlibmodule.c -l:libz.a
_bz2 _bz2module.c -l:libbz2.a
_lzma _lzmamodule.c -l:liblzma.a
pyexpat pyexpat.c arc4random.c -l:libexpat.a
_elementtree _elementtree.c
*disabled*
_crypt _curses _curses_panel _dbm _gdbm _sqlite3 _tkinter _uuid nis ossaudiodev readline xxlimited xxlimited_35
END
# Nothing of this machine's environment comes in. `uv` writes the place of an installation over the prefix /install.
clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
  SOURCE_DATE_EPOCH="$(dpkg-parsechangelog -S Timestamp)")
# Nor does what this machine has for modules that are left out.
absent=(ac_cv_header_{bluetooth_bluetooth,curses,ncurses,ncursesw_ncurses,term,sqlite3,uuid,uuid_uuid}_h
  ac_cv_lib_curses_{filter,has_key,immedok,is_pad,is_term_resized,resize_term,resizeterm,syncok,typeahead,use_env,wchgat}
  ac_cv_mvwdelch_is_expression ac_cv_window_has_flags)
"${clean[@]}" ac_cv_posix_semaphores_enabled=yes "${absent[@]/%/=no}" PKG_CONFIG_LIBDIR=/nowhere \
  ./configure --prefix=/install \
  --disable-test-modules --without-static-libpython --without-ensurepip --without-readline --with-system-expat \
  --with-ssl-default-suites=openssl CC=gcc OPT='-fwrapv -O2 -Wall' CFLAGS_NODIST="-ffile-prefix-map=$source=." \
  LDFLAGS_NODIST='-Wl,--exclude-libs,ALL'
"${clean[@]}" make -j"$(nproc)"
"${clean[@]}" make install DESTDIR="$to.sources/made"
"${clean[@]}" python3 "$packaging/interpreter.py" "$to.sources/made/install" "$source" "$to" "${libraries[@]}"

rm -rf "$to.sources" "$to.apt"
printf '%s\n' "$made_from" >"$to/made-from"
