// The front of a remote file, kept on this machine while the rest arrives. Format: remote/part_file.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// What of a part file survives whatever happens to the machine.
struct PartState {
  std::string identity;      // of the remote file
  std::uint64_t size = 0;    // of the remote file
  std::uint64_t bytes = 0;   // that are here, from its front
  std::uint32_t crc32c = 0;  // of those
  bool operator==(const PartState&) const = default;
};

/// kDataLoss for what is no journal of this version.
Result<PartState> ParsePartState(std::string_view text);
std::string FormatPartState(const PartState& state);

/// One thread appends; any may read what was appended before. One process at a time: whoever owns the
/// directory.
class PartFile {
 public:
  /// What is there of this identity and size is kept, everything else is dropped. Makes the directory.
  static Result<std::unique_ptr<PartFile>> Open(std::string path, std::string identity, std::uint64_t size);

  /// Those of the appending thread, synced or not.
  const PartState& state() const { return state_; }
  const std::string& path() const { return path_; }

  Status Append(std::string_view bytes);
  /// What was appended is safe from now on.
  Status Sync();
  /// Reads some of what was appended at `offset`; safe from any thread.
  Result<std::size_t> ReadAt(std::uint64_t offset, std::span<char> out) const;
  /// The next one begins anew. What is here can still be read.
  Status Forget();
  /// This one begins anew: nothing is here.
  Status Empty();

 private:
  PartFile(std::string path, FileDescriptor file, PartState state)
      : path_(std::move(path)), file_(std::move(file)), state_(std::move(state)) {}

  const std::string path_;
  const FileDescriptor file_;
  PartState state_;
};

}  // namespace pipeline
