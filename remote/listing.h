// What lies at a place and below it, on any store, in the words that a person would type.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "remote/gcs_object.h"
#include "remote/open_store.h"

namespace pipeline {

struct Listed {
  std::string place;  // that of a directory ends with `/`
  bool is_directory = false;
  std::uint64_t size = 0;               // of an object
  std::optional<std::uint32_t> crc32c;  // absent where the place does not keep one
  /// Why this is neither an object nor a directory here, for people: a link to a directory, a pipe, a name
  /// that no store has. Empty: it is one.
  std::string no_object = {};
  /// The object of a bucket as its list shows it: it can be read without asking again. Absent elsewhere.
  std::optional<GcsObject> object = {};
};

enum class ListDepth : std::uint8_t {
  kLevel,  // directories by their names alone
  kAll,    // every object, and no directory
};

/// Calls `visit` with the object at `place`, and with what lies below it in the order of names. kNotFound
/// where there is neither; a directory or a bucket that is empty is there. Of a bucket one page is held at a
/// time, of a directory all of it. A web server does not tell what it has: there `place` is one file.
/// What a Store's List passes over is told, too (`no_object`), but for unfinished files (local_names.h) and
/// for the empty objects `dir/` by which other programs mark directories.
Status ListPlace(StoreOpener& stores, const std::string& place, ListDepth depth,
                 const std::function<Status(const Listed&)>& visit, std::stop_token stop);

}  // namespace pipeline
