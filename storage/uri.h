// A location as a person writes it: a path, file:///path, gs://bucket/path or https://host/path.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/scheme.h"

namespace pipeline {

struct Uri {
  const Scheme* scheme = &kLocalScheme;  // one of Schemes(), never null
  std::string authority;                 // the bucket; or the host, perhaps with a port; kPath: empty
  /// kPath: the path for the system, absolute or relative, not empty. kBucket: an object name or prefix, may
  /// be empty. kWeb: everything after the authority with the query; empty or from `/`.
  std::string path;

  bool is_local() const { return scheme->is_local(); }

  bool operator==(const Uri&) const = default;

  /// kInvalidArgument gives the reason. `file://` is percent-decoded, the others stay as they are. Slashes
  /// at the end of a path are removed, except kWeb. Looks nothing up.
  static Result<Uri> Parse(std::string_view text);

  /// The result parses to an equal Uri. A local Uri becomes a plain path.
  std::string ToString() const;

  /// Returns the Uri of the object `name` below this one. Not for kWeb.
  Uri Join(std::string_view name) const;

  /// The last part of the path, without a query: for messages, and to guess a format. Empty: there is none.
  std::string_view LastPart() const;
};

/// True if a server has to be asked.
bool IsRemote(std::string_view uri);

/// Returns a URL for messages: without user info, query and fragment, which may hold secrets.
std::string ShownUrl(std::string_view url);

}  // namespace pipeline
