// Objects as files of a directory: brought once, and kept as long as they are right. CONTRACT.md, section 10.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/host_storage.h"

namespace pipeline {

struct FetchPlan {
  std::string from;              // URI that the names of `files` are below
  std::vector<FileFacts> files;  // as they must be
  std::string directory;
  std::string what;  // that is fetched, for people: "the rows"
};

struct FetchMeans {
  const HostStorage& storage;  // outlives the fetching, as whatever the functions refer to
  std::function<bool()> stopped;
  /// How far it is, now and then: bytes that are there and right, of all.
  std::function<void(std::uint64_t done, std::uint64_t of)> tell;
  std::function<Result<std::uint64_t>(const std::string& directory)> free_bytes = FreeBytesAt;
};

/// Fetches what is missing or has another length or CRC-32C, several at a time. kResourceExhausted, before a
/// byte is fetched, where the disk cannot hold it; kDataLoss naming an object that is not what its facts say.
/// What is fetched stays there whatever happens to the rest. One caller at a time for a directory.
Status FetchFiles(const FetchPlan& plan, const FetchMeans& means);

}  // namespace pipeline
