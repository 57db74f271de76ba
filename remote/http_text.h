// What servers write into the lines above a body. None of it is believed before it is parsed here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// A header line without its end: the name in lower case, the value without the space around it. Absent
/// where it is none.
struct HeaderLine {
  std::string name;
  std::string value;
};
std::optional<HeaderLine> ParseHeaderLine(std::string_view line);

/// A server inside of the machine's own network, which hands out credentials; of what HttpServerOf gives.
bool IsMetadataServer(std::string_view server);

/// Whether a server that got it twice is in the same state as after once.
bool IsIdempotent(std::string_view method);

/// Whether a request can carry it: no line end and no NUL hidden in it, a name of letters, digits and the
/// like.
bool CanBeSent(std::string_view name, std::string_view value);

/// `bytes 0-99/1000`, `bytes 0-99/*`, `bytes */1000`; first <= last < size where they are known.
struct ContentRange {
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  std::optional<Span> span;           // absent in the answer to a range that cannot be (416)
  std::optional<std::uint64_t> size;  // of the whole; absent where the server does not know
};
std::optional<ContentRange> ParseContentRange(std::string_view value);

/// How long the server wants to be left alone: seconds, or a date; never negative, a day at most. Absent
/// where it is neither.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         std::int64_t unix_millis_now);

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` and of the two older forms of RFC 9110.
std::optional<std::int64_t> ParseHttpDate(std::string_view text);

/// Digits and nothing else.
std::optional<std::uint64_t> ParseLength(std::string_view value);

/// Whether equal tags mean equal bytes: quoted and without `W/`.
bool IsStrongTag(std::string_view etag);

/// `text/html; charset=utf-8` as `text/html`.
std::string MediaType(std::string_view content_type);

/// What was done to a body that is about `url`, by the values of its Content-Encoding in their order: "gzip"
/// or "br, gzip", the last one on the outside; empty where it comes as it is stored. What the name in `url`
/// ends in belongs to the file: `x.gz` said to be gzip is as it is stored.
std::string ContentCoding(const std::vector<std::string_view>& values, std::string_view url);

}  // namespace pipeline
