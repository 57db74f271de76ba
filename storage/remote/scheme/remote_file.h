// A file of a server, and how its server is asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/remote/http/http_facts.h"
#include "storage/remote/http/ranged_file.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

/// One state of a file. Reading resumes by itself, and fails once the file has another version.
struct RemoteFile {
  std::shared_ptr<const RangedFile> bytes;
  std::string version;                  // empty: versions cannot be told apart
  std::optional<std::uint32_t> crc32c;  // of the whole file; absent: the store does not say
  bool takes_ranges = false;            // the server says so
  /// Identifies this state among all files, without secrets: a killed copy of it can resume. Empty: it
  /// cannot.
  std::string identity = {};
  std::optional<HttpFacts> facts = {};  // of a web server
};

/// How long a silent server is asked again.
enum class Patience : std::uint8_t {
  kPlan,  // a user waits for the plan
  kNext,  // another address follows
  kRun,
};
struct RemoteAsk {
  Patience patience = Patience::kRun;
  std::chrono::milliseconds stall{0};          // as HttpRequest::stall
  std::chrono::milliseconds silence{900'000};  // kRun: gives up after this long without a byte
  /// Size of a file that the caller checks at its end: a web server gets no request before the first read,
  /// see HttpFile::Pinned.
  std::optional<std::uint64_t> pinned_size = {};
};
/// How often, and how long, a server is asked.
RetryPolicy PolicyOf(const RemoteAsk& ask);

}  // namespace pipeline
