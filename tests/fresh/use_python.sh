#!/usr/bin/env bash
# Run by packages.sh in a fresh root, where the packages and the unpacked folder are: uses the Python of the packages, where
# no other is, with the trainer's libraries.
set -euo pipefail
if command -v python3; then exit 1; fi
folder=$(echo text2lm-[0-9]*-linux-*/)
read -r name digest <"$folder/lib/pipe/plugins/train/python.txt"
printf '%s  %s\n' "$digest" "$name" | sha256sum -c

# At a place with a space and kanji, moved once.
place='場所 of mine'
mkdir "$place"
tar xf "$name" -C "$place"
mv "$place/python" "$place/moved"
"$place/moved/bin/python3.11" -m venv "$place/env"
python=$place/env/bin/python
"$python" - <<'END'
import bz2, ctypes, decimal, hashlib, lzma, multiprocessing, os, xml.etree.ElementTree, zlib
for module in bz2, lzma, zlib:
    assert module.decompress(module.compress(b"text")) == b"text"
assert ctypes.CDLL(None).getpid() == os.getpid()
assert hashlib.new("sha512_256").digest_size == 32
assert multiprocessing.Pool(2).map(abs, [-1]) == [1]
assert xml.etree.ElementTree.fromstring("<a>字</a>").text == "字"
assert abs(3 + 4j) == 5 and decimal.Decimal("0.1") * 3 == decimal.Decimal("0.3")
END

# The certificates of Debian and of Red Hat are found.
debian=/etc/ssl/certs/ca-certificates.crt red_hat=/etc/pki/tls/certs/ca-bundle.crt
finds() {
  env -u SSL_CERT_FILE -u SSL_CERT_DIR "$python" -c 'import ssl, sys
assert ssl.get_default_verify_paths().cafile == sys.argv[1]
assert ssl.create_default_context().get_ca_certs()' "$1"
}
finds $debian
mkdir -p ${red_hat%/*}
mv $debian $red_hat
finds $red_hat
mv $red_hat $debian

# The trainer's environment: the message without a Python names the command that makes one.
if "$folder/bin/pipe" trainer setup 2>said; then exit 1; fi
[[ $(tail -n 1 said) == *"no python3 is on PATH; this release has one, the file $name: pipe trainer setup --python $name" ]]
"$folder/bin/pipe" trainer setup --python "$name"
"$folder/bin/pipe" trainer check
.pipe/trainer/bin/python -c 'import jax, numpy, optax, orbax.checkpoint; assert jax.numpy.ones(3).sum() == 3'
