#include "storage/scheme.h"

#include <algorithm>

namespace pipeline {

namespace {

std::vector<const Scheme*>& Table() {
  static std::vector<const Scheme*> table = {&kLocalScheme};
  return table;
}

}  // namespace

void SetRemoteSchemes(std::vector<const Scheme*> remote) {
  remote.insert(remote.begin(), &kLocalScheme);
  Table() = std::move(remote);
}

std::span<const Scheme* const> Schemes() { return Table(); }

const Scheme* FindScheme(std::string_view name) {
  const auto found =
      std::find_if(Table().begin(), Table().end(), [&](const Scheme* known) { return known->name == name; });
  return found == Table().end() ? nullptr : *found;
}

}  // namespace pipeline
