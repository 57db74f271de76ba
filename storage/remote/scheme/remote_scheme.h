// A row of the table of remote schemes.
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>

#include "storage/remote/scheme/checkup.h"
#include "storage/remote/scheme/remote_opener.h"
#include "storage/scheme.h"

namespace pipeline {

/// Lasts as long as the program.
struct RemoteScheme : Scheme {
  std::unique_ptr<RemoteOpener> (*open)(const StoreOptions& options);
  /// For `pipe doctor`.
  std::unique_ptr<Checkup> (*check)(CheckTeller tell, std::stop_token stop);
  /// Commands that a message advises: to list a location, and to rename an object. Empty: none renames.
  std::string_view list_command = "pipe ls", rename_command = {};
};

}  // namespace pipeline
