// Where something is, as a person writes it: a path, file:///path, gs://bucket/path or https://host/path.
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
  /// file: the path as the system takes it, absolute or relative, not empty. gs: an object name or
  /// prefix, may be empty. http: all that follows the authority, query included; empty or from `/`.
  std::string path;

  bool operator==(const Uri&) const = default;

  /// kInvalidArgument with the reason. `file://` is percent-decoded, the others are kept as they are;
  /// slashes at the end of a file or gs path are dropped. Nothing is looked up anywhere.
  static Result<Uri> Parse(std::string_view text);

  /// Parses to an equal Uri. A local one is written as a plain path.
  std::string ToString() const;

  /// The place of the object `name` below this one. Not for http.
  Uri Join(std::string_view name) const;

  /// The last part of the path, without a query: for messages, and to guess a format by. Empty if
  /// there is none.
  std::string_view LastPart() const;
};

/// Whether a server has to be asked for it: gs, http and https.
bool IsRemote(std::string_view uri);

/// A URL for messages: without user info, query and fragment, in which secrets stand.
std::string ShownUrl(std::string_view url);

}  // namespace pipeline
