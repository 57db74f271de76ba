# Sourced. in_root ROOT DIRECTORY WORD...: runs these words in DIRECTORY of this root, as root, with the network of this
# machine and without the rest of its environment. The mounts are in a namespace of their own and end with the command.
in_root() {
  cp /etc/resolv.conf /etc/hosts "$1/etc/" || return
  # shellcheck disable=SC2016
  root=$1 directory=$2 unshare --mount --propagation private --kill-child --fork bash -c '
    mount --bind "$root" "$root"  # unshare wants a root that is a mount point
    for m in proc sys dev; do mount --rbind "/$m" "$root/$m"; done
    names="https?_proxy|no_proxy|ssl_cert_file|requests_ca_bundle|pip_[a-z_]*|goproxy|jobs"
    mapfile -t kept < <(env | grep -iE "^($names)=")
    exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "${kept[@]}" \
      chroot "$root" bash -c "cd \"\$0\" && exec \"\$@\"" "$directory" "$@"' _ "${@:3}"
}

# use_root ROOT COMMAND: by bash in /place of this root, with the certificates of this machine and without a home.
use_root() {
  mkdir -p "$1/place" "$1/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  [[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$1/etc/"
  in_root "$1" /place env HOME=/nowhere bash -euo pipefail -c "$2"
}
