// Parses the JSON that Google Cloud Storage returns about objects. No other file trusts that JSON.
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
  std::string
      content_encoding;  // "gzip": the bytes are sent as they are stored, see storage/remote/gcs/gcs.md
  std::string upload;    // our mark, kUploadMark; empty: written by another program
};

struct GcsPage {
  std::vector<GcsObject> objects;
  std::vector<std::string> prefixes;  // of a list by level: common prefixes that end in a slash
  std::string next;                   // empty: the last page
};

/// The metadata key of an object that tells which write made it.
inline constexpr std::string_view kUploadMark = "pipe-upload";
/// The members that ParseGcsObject reads, for the query parameter `fields`.
inline constexpr std::string_view kObjectFields =
    "name,size,generation,crc32c,contentType,contentEncoding,metadata";

/// kUnavailable if the text is not an object resource: then another server answered.
Result<GcsObject> ParseGcsObject(std::string_view text);
Result<GcsObject> ReadGcsObject(const Json& resource);
Result<GcsPage> ParseGcsPage(std::string_view text);

/// An error response, as far as its body can be parsed.
struct GcsError {
  int status = 0;
  std::string reason;   // one word; may be empty
  std::string message;  // one line, truncated
};
GcsError ParseGcsError(int status, std::string_view body);
/// Returns whether an error 404 is about the bucket, and not about an object.
bool IsMissingBucket(const GcsError& error);
/// True for digits other than 0, which means that there is no object.
bool IsGcsGeneration(std::string_view version);

/// Formats a CRC-32C as the JSON API does: base64 of four bytes, big-endian.
std::string FormatGcsCrc(std::uint32_t crc);

/// kInvalidArgument for names that no store allows or that a bucket does not allow.
Status CheckGcsName(std::string_view name);

}  // namespace pipeline
