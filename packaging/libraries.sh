#!/usr/bin/env bash
# libraries.sh DIR [SYSROOT TOOLCHAIN]: makes in DIR the libraries that the folder does not take from Debian 12 as they
# are (README.md): the newest liblzma and libzstd, a libcurl and a libarchive with what `pipe` calls alone, and a libstdc++
# for GLIBC_2.34. The sources are those of Debian 13, with Debian's patches; apt checks their signatures. If DIR is there
# already and was made from the same files and versions: nothing happens. On Debian 12.
# SYSROOT is a Debian 12 of another processor (tests/arm64/sysroot.sh), and TOOLCHAIN CMake's file of the compiler for it;
# DIR must be in SYSROOT.
set -euo pipefail
to=$(realpath -m "$1")
sysroot=${2+$(realpath "$2")}
toolchain=${3+$(realpath "$3")}
tools=${toolchain:+$(sed -nE 's/^set\(CMAKE_C_COMPILER (.*)gcc-12\)$/\1/p' "$toolchain")}
cd "$(dirname "${BASH_SOURCE[0]}")"
source private_apt.sh

export LC_ALL=C.UTF-8
private_apt "$to.apt" "$(dpkg --print-architecture)" trixie
apt-get update
made_from=$(sha256sum libraries.sh private_apt.sh runtime/*
  dpkg-query --root="$sysroot/" -W libstdc++-12-pic libssl-dev
  apt-cache showsrc xz-utils libzstd curl libarchive | grep -E '^(Package|Version):' | sort)
[[ -f $to/made-from && $(<"$to/made-from") == "$made_from" ]] && rm -r "$to.apt" && exit
rm -rf "$to" "$to.sources"
mkdir -p "$to/share" "$to.sources"

# build PACKAGE CMAKE_FOLDER OPTION...: its static library, below DIR, and its licence.
build() {
  local package=$1 folder=$2 source=$to.sources/$1
  shift 2
  (cd "$to.sources" && fetch_source "$package")
  cmake -S "$source/$folder" -B "$source/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$to" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$to" -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_C_FLAGS="-ffile-prefix-map=$to.sources=." ${toolchain:+-DCMAKE_TOOLCHAIN_FILE="$toolchain"} "$@"
  cmake --build "$source/build" --target install
  mkdir -p "$to/share/doc/$package"
  cp "$source/debian/copyright" "$to/share/doc/$package/"
  dpkg-parsechangelog -l "$source/debian/changelog" -S Version >"$to/share/doc/$package/version"
}

build xz-utils . -DXZ_TOOL_XZ=OFF -DXZ_TOOL_XZDEC=OFF -DXZ_TOOL_LZMADEC=OFF -DXZ_TOOL_LZMAINFO=OFF -DXZ_TOOL_SCRIPTS=OFF \
  -DXZ_NLS=OFF -DXZ_DOC=OFF
build libzstd build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_TESTS=OFF
build curl . -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DBUILD_CURL_EXE=OFF -DBUILD_STATIC_LIBS=ON -DENABLE_CURL_MANUAL=OFF \
  -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF -DBUILD_TESTING=OFF -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none \
  -DCURL_ZLIB=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF -DCURL_USE_LIBPSL=OFF \
  -DCURL_USE_LIBSSH2=OFF -DCURL_DISABLE_NTLM=ON
build libarchive . -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF -DENABLE_CAT=OFF -DENABLE_UNZIP=OFF \
  -DENABLE_NETTLE=OFF -DENABLE_LIBXML2=OFF -DENABLE_EXPAT=OFF -DENABLE_ACL=OFF -DENABLE_XATTR=OFF -DENABLE_LZ4=OFF \
  -DENABLE_LIBB2=OFF -DENABLE_OPENSSL=ON -DENABLE_PCREPOSIX=OFF -DENABLE_PCRE2POSIX=OFF

# Debian has the objects of its libstdc++, and the names and versions that it exports, for such uses. Under a name of its
# own it lies beside that of the system in one process: Python loads our libraries, and others with the system's. One
# function of libstdc++ 12 gets the older of its two versions (folder.py).
runtime=libstdc++-text2lm.so.6
wait=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
objects=$sysroot/usr/lib/gcc/$("${tools}gcc-12" -print-multiarch)/12
# Two functions of streams are in an object that only the static library has.
(cd "$to.sources" && "${tools}ar" x "$objects/libstdc++.a" compatibility.o)
"${tools}gcc-12" -O2 -fPIC -c runtime/arc4random.c -o "$to.sources/arc4random.o"
sed "/ $wait;/d; s/^ *_ZNSt18condition_variable10notify_oneEv;/&\n    $wait;/" "$objects/libstdc++_pic.map" \
  >"$to.sources/names.map"
"${tools}g++-12" -shared -nodefaultlibs -Wl,-soname,$runtime -Wl,-z,relro -Wl,-z,defs -Wl,-O1 -Wl,--hash-style=gnu \
  -Wl,--build-id=none -Wl,--version-script="$to.sources/names.map" -o "$to/lib/$runtime" \
  "$to.sources/arc4random.o" "$to.sources/compatibility.o" \
  -Wl,--whole-archive "$objects/libstdc++_pic.a" -Wl,--no-whole-archive -lm -lc -lgcc_s -lgcc
"${tools}strip" --strip-unneeded "$to/lib/$runtime"

rm -rf "$to.sources" "$to.apt"
printf '%s\n' "$made_from" >"$to/made-from"
