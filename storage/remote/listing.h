// Lists a location on any store, with names that a user could type.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "storage/remote/open_store.h"

namespace pipeline {

struct Listed {
  std::string location;  // ends with `/` for a directory
  bool is_directory = false;
  std::uint64_t size = 0;               // of an object
  std::optional<std::uint32_t> crc32c;  // absent: the store keeps none
  /// Why this is neither an object nor a directory, for people: a link to a directory, a pipe, a name that
  /// no store allows. Empty: it is one.
  std::string no_object = {};
  /// As RemoteObject::open: the object as it was listed. Empty: it has to be asked for.
  std::function<RemoteFile()> open = {};
};

enum class ListDepth : std::uint8_t {
  kLevel,  // directories by name only
  kAll,    // every object, and no directories
};

/// Calls `visit` with the object at `location` and with everything below it, in the order of names. kNotFound
/// if there is nothing; an empty directory or bucket exists. Holds one page of a bucket in memory, but the
/// whole list of a directory. If the scheme does not list, `location` is one file. Also reports
/// entries that Store::List skips (`no_object`), except unfinished files (local_names.h) and the empty
/// objects `dir/` with which other programs mark directories.
Status ListLocation(StoreOpener& stores, const std::string& location, ListDepth depth,
                    const std::function<Status(const Listed&)>& visit, std::stop_token stop);

}  // namespace pipeline
