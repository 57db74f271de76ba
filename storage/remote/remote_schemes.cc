#include "storage/remote/remote_schemes.h"

#include "storage/remote/gcs/gcs_scheme.h"
#include "storage/remote/web/web_scheme.h"

namespace pipeline {

namespace {

/// SetRemoteSchemes got rows from InstallSchemes, and nothing else.
const RemoteScheme& RowOf(const Scheme& remote) { return static_cast<const RemoteScheme&>(remote); }

}  // namespace

std::vector<const RemoteScheme*> BuiltinSchemes() {
  return {
      &kGcsScheme,
      &kHttpScheme,
      &kHttpsScheme,
  };
}

void InstallSchemes(const std::vector<const RemoteScheme*>& schemes) {
  SetRemoteSchemes({schemes.begin(), schemes.end()});
}

std::vector<const RemoteScheme*> RemoteSchemes() {
  std::vector<const RemoteScheme*> rows;
  for (const Scheme* scheme : Schemes())
    if (!scheme->is_local()) rows.push_back(&RowOf(*scheme));
  return rows;
}

const RemoteScheme& RemoteSchemeOf(const Uri& location) { return RowOf(*location.scheme); }

}  // namespace pipeline
