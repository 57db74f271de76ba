// Parses HTTP header values. No other file uses them unparsed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// A header line without its line end: the name in lower case, the value trimmed. Absent: it is not a
/// header line.
struct HeaderLine {
  std::string name;
  std::string value;
};
std::optional<HeaderLine> ParseHeaderLine(std::string_view line);

/// True for the address of a cloud metadata server, which gives credentials to its own machine. `server`:
/// from HttpServerOf.
bool IsMetadataServer(std::string_view server);

/// True if sending the request twice has the same effect as once.
bool IsIdempotent(std::string_view method);

/// True if a request can carry this header: no line end or NUL in it, and a name of letters, digits and the
/// like.
bool CanBeSent(std::string_view name, std::string_view value);

/// `bytes 0-99/1000`, `bytes 0-99/*`, `bytes */1000`; first <= last < size if they are known.
struct ContentRange {
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  std::optional<Span> span;           // absent in the answer to an unsatisfiable range (416)
  std::optional<std::uint64_t> size;  // of the whole file; absent: the server does not know it
};
std::optional<ContentRange> ParseContentRange(std::string_view value);

/// The pause that the server asks for, as seconds or a date; between 0 and one day. Absent: neither.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         std::int64_t unix_millis_now);

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT` and the two older forms of RFC 9110 into seconds since 1970.
std::optional<std::int64_t> ParseHttpDate(std::string_view text);

/// Parses `2026-12-01T12:34:56.789Z`, the form of RFC 3339 in UTC, into whole seconds since 1970.
std::optional<std::int64_t> ParseTimestamp(std::string_view text);

/// A to Z become small; other bytes stay.
std::string Lower(std::string_view text);

/// Parses digits and nothing else.
std::optional<std::uint64_t> ParseLength(std::string_view value);

/// True if equal tags mean equal bytes: quoted and without `W/`.
bool IsStrongTag(std::string_view etag);

/// Returns `text/html` for `text/html; charset=utf-8`.
std::string MediaType(std::string_view content_type);

/// The codings of a body at `url`, from its Content-Encoding values in order: "gzip" or "br, gzip", the
/// last one applied last. Empty: sent as it is stored. A coding that the name in `url` ends in belongs to
/// the file: `x.gz` sent as gzip counts as stored.
std::string ContentCoding(const std::vector<std::string_view>& values, std::string_view url);

/// Returns the media type of an object by the end of its name; browsers and consoles use it.
/// "application/octet-stream" for unknown names and for compressed files: so nothing decompresses them in
/// transit, and offsets and checksums refer to the stored bytes.
std::string_view ContentTypeOf(std::string_view name);

}  // namespace pipeline
