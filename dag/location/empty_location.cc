#include "dag/location/empty_location.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/str.h"
#include "dag/books/location_log.h"
#include "dag/location/location_lock.h"
#include "dag/location/marker.h"
#include "dag/location/numbered_lease.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

/// Returns whether each file below `path` is in `.pipe/`.
Result<bool> HasOwnFilesAlone(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path own = path / kOwnPrefix.substr(0, kOwnPrefix.size() - 1);
  std::filesystem::recursive_directory_iterator at(path, error), end;
  for (; !error && at != end; at.increment(error)) {
    const bool is_directory = std::filesystem::is_directory(at->symlink_status(error));
    if (is_directory && at->path() == own) at.disable_recursion_pending();
    if (!is_directory) return false;
  }
  if (error) return SystemError(StrCat("listing ", path.string()), error.value());
  return true;
}

}  // namespace

Result<bool> RemoveIfEmpty(const std::string& path, const LeaseTerms& terms) {
  ASSIGN_OR_RETURN(const bool empty, HasOwnFilesAlone(path));
  if (!empty) return false;
  LocalStore store(path);
  ASSIGN_OR_RETURN(const std::optional<PublicationMarker> marker, ReadMarker(store));
  if (marker && (marker->others || marker->holder != terms.holder)) return false;
  ASSIGN_OR_RETURN(const std::optional<SeenLease> seen, NumberedLease(store, path, terms, true).Look({}));
  if (seen && !seen->holder.empty() && seen->holder != terms.holder) return false;
  const Result<std::unique_ptr<LocationLock>> lock = LocationLock::Take(path, terms.who);
  if (!lock.ok()) return false;
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return SystemError(StrCat("removing ", path), error.value());
  return true;
}

}  // namespace pipeline
