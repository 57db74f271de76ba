# Sourced. private_apt DIR ARCHITECTURE [SUITE]: from now on, apt and the tools beside it work in DIR, with the sources,
# keys and settings of this machine, such as a proxy. The machine's packages stay as they are, and no rights of root are
# needed. With SUITE apt knows the sources of that release of Debian alone, and no binary packages.
private_apt() {
  local dir=$1 architecture=$2 suite=${3-} codename
  rm -rf "$dir"
  mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
  : >"$dir/status"  # nothing is installed there, so apt fetches each dependency
  {
    # Without the commands that it would start afterwards.
    apt-config dump | grep -vE '^(APT::Architectures?|Dir::(State|Cache)|DPkg::|[A-Za-z:-]*(Invoke|AptCli::Hooks))\b'
    cat <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
Debug::NoLocking "1";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::State "$dir/state";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
Dir::Log "$dir";
END
    [[ ! $suite ]] || printf 'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "%s";\n' "$dir/sources"
  } >"$dir/apt.conf"
  if [[ $suite ]]; then
    mkdir "$dir/sources"
    codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
    if [[ -f /etc/apt/sources.list.d/debian.sources ]]; then
      sed -E "s/^Types:.*/Types: deb-src/; s/\b$codename\b/$suite/g" /etc/apt/sources.list.d/debian.sources \
        >"$dir/sources/debian.sources"
    else
      sed -nE "s/^deb (.*)\b$codename\b(.*)/deb-src \1$suite\2/p" /etc/apt/sources.list >"$dir/sources/debian.list"
    fi
  fi
  export APT_CONFIG=$dir/apt.conf
}

# fetch_source PACKAGE [OPTION...]: unpacks its source in the folder PACKAGE; apt has checked the signature, dpkg-source
# gets the options. A mirror may list a newer version than it has; then the one before counts.
fetch_source() {
  local package=$1 version versions
  shift
  mapfile -t versions < <(apt-cache showsrc "$package" | sed -n 's/^Version: //p' | sort -Vru)
  for version in "${versions[@]}"; do
    apt-get source --download-only "$package=$version" || continue
    dpkg-source --no-check "$@" -x "${package}_${version#*:}.dsc" "$package"
    return  # with the exit code of dpkg-source
  done
  printf 'no source of %s can be fetched\n' "$package" >&2
  return 1
}
