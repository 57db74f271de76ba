// Downloads objects into a directory, once, and keeps them while they are correct. CONTRACT.md, section 10.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/object_files.h"

namespace pipeline {

struct FetchPlan {
  std::string from;              // URI above the names of `files`
  std::vector<FileFacts> files;  // the expected files
  std::string directory;
  std::string what;  // for people: "the rows"
};

struct FetchMeans {
  const PluginStorage& storage;  // outlives the download, as do the objects that the functions use
  std::function<bool()> stopped;
  /// Called now and then with the bytes that are here and correct, and the total.
  std::function<void(std::uint64_t done, std::uint64_t of)> tell;
  std::function<Result<std::uint64_t>(const std::string& directory)> free_bytes = FreeBytesAt;
  std::function<void(std::uint64_t bytes)> moved = {};  // downloaded since the last call; on any thread
};

/// Shows how far a download is.
void TellBringing(const PluginServices& call, std::string_view what, std::uint64_t done, std::uint64_t of);

/// Downloads the files that are missing or have another length or CRC-32C, several at a time.
/// kResourceExhausted before any download if the disk cannot hold them; kDataLoss names an object that does
/// not match its facts. Downloaded files stay, whatever happens to the others. One caller per directory at
/// a time.
Status FetchFiles(const FetchPlan& plan, const FetchMeans& means);

}  // namespace pipeline
