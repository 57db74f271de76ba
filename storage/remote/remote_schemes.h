// The table of remote schemes.
#pragma once

#include <vector>

#include "storage/remote/scheme/remote_scheme.h"
#include "storage/uri.h"

namespace pipeline {

/// The remote schemes of this program, in the order in which messages name them.
std::vector<const RemoteScheme*> BuiltinSchemes();

/// Makes these the remote schemes that locations may have. Each `main` calls it first, while there is one
/// thread.
void InstallSchemes(const std::vector<const RemoteScheme*>& schemes = BuiltinSchemes());

/// The installed ones.
std::vector<const RemoteScheme*> RemoteSchemes();

/// The row of a location that is not local.
const RemoteScheme& RemoteSchemeOf(const Uri& location);

}  // namespace pipeline
