// A location as a person writes it: a path, file:///path, gs://bucket/path or https://host/path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

struct Uri {
  enum class Scheme : std::uint8_t { kFile, kGs, kHttp, kHttps };

  Scheme scheme = Scheme::kFile;
  std::string authority;  // gs: the bucket; http: host, perhaps with a port; file: empty
  /// file: the path for the system, absolute or relative, not empty. gs: an object name or prefix, may be
  /// empty. http: everything after the authority with the query; empty or from `/`.
  std::string path;

  bool operator==(const Uri&) const = default;

  /// kInvalidArgument gives the reason. `file://` is percent-decoded, the others stay as they are. Slashes
  /// at the end of a file or gs path are removed. Looks nothing up.
  static Result<Uri> Parse(std::string_view text);

  /// The result parses to an equal Uri. A local Uri becomes a plain path.
  std::string ToString() const;

  /// Returns the Uri of the object `name` below this one. Not for http.
  Uri Join(std::string_view name) const;

  /// The last part of the path, without a query: for messages, and to guess a format. Empty: there is none.
  std::string_view LastPart() const;
};

/// True if a server has to be asked: gs, http and https.
bool IsRemote(std::string_view uri);

/// Returns a URL for messages: without user info, query and fragment, which may hold secrets.
std::string ShownUrl(std::string_view url);

}  // namespace pipeline
