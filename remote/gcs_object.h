// What Google Cloud Storage says of objects, in JSON: parsed here, and believed nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct GcsObject {
  std::string name;
  std::uint64_t size = 0;
  std::string generation;
  std::optional<std::uint32_t> crc32c;
  std::string content_type;
  std::string content_encoding;  // "gzip": its bytes are sent as they are stored, see remote/gcs.md
  std::string upload;            // our mark, kUploadMark; empty where somebody else wrote it
};

struct GcsPage {
  std::vector<GcsObject> objects;
  std::vector<std::string> prefixes;  // of a list by level: what other objects begin with, up to a slash
  std::string next;                   // empty: the last page
};

/// The member of an object's metadata that tells which write made it.
inline constexpr std::string_view kUploadMark = "pipe-upload";
/// The members that ParseGcsObject reads, for the parameter `fields`.
inline constexpr std::string_view kObjectFields =
    "name,size,generation,crc32c,contentType,contentEncoding,metadata";

/// kUnavailable where the text is no resource of an object: something else answered.
Result<GcsObject> ParseGcsObject(std::string_view text);
Result<GcsObject> ReadGcsObject(const Json& resource);
Result<GcsPage> ParseGcsPage(std::string_view text);

/// The body of an error, or what can be made of it.
struct GcsError {
  int status = 0;
  std::string reason;   // a word, perhaps empty
  std::string message;  // one line, cut short
};
GcsError ParseGcsError(int status, std::string_view body);

/// A CRC-32C as the JSON API writes it: base64 of four bytes, the highest first.
std::string FormatGcsCrc(std::uint32_t crc);

/// kInvalidArgument for names that a bucket cannot have beside those that no store has.
Status CheckGcsName(std::string_view name);

}  // namespace pipeline
