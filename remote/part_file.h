// The front of a remote file, kept on this machine while the rest arrives. Format: remote/part_file.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  std::string sent = {};  // checksum of what was sent, of which these bytes were decoded; empty: nobody asked
  bool operator==(const PartState&) const = default;
};

/// kDataLoss for what is no journal of this version.
Result<PartState> ParsePartState(std::string_view text);
std::string FormatPartState(const PartState& state);

/// What lies beside a part file whose bytes could not be decoded: from which on they are to be dropped, or
/// were.
struct DropNote {
  std::string identity;    // of the remote file
  std::uint64_t from = 0;  // the first byte that is not trusted
  bool is_done = false;
  bool operator==(const DropNote&) const = default;
};

/// kDataLoss for what is no note of this version.
Result<DropNote> ParseDropNote(std::string_view text);
std::string FormatDropNote(const DropNote& note);

/// Of the part file `path` and this state of its remote file; absent where there is none.
std::optional<DropNote> ReadDropNote(const std::string& path, std::string_view identity);
Status WriteDropNote(const std::string& path, const DropNote& note);

/// One thread appends; any may read what was appended before. One process at a time: whoever owns the
/// directory.
class PartFile {
 public:
  /// What a note says is to be dropped is dropped. What is there of this identity and size is kept, and what
  /// is whole of this identity and another size, which `size` then is not; everything else is dropped. Makes
  /// the directory.
  static Result<std::unique_ptr<PartFile>> Open(std::string path, std::string identity, std::uint64_t size);
  /// The same of a part that lies where others work, too (storage/kept_part.h): as OpenKeptPart, and bytes
  /// whose journal belongs to another user are not gone on with.
  static Result<std::unique_ptr<PartFile>> OpenAmongOthers(std::string path, std::string identity,
                                                           std::uint64_t size);

  /// Those of the appending thread, synced or not.
  const PartState& state() const { return state_; }
  bool is_whole() const { return state_.bytes == state_.size; }
  const std::string& path() const { return path_; }

  Status Append(std::string_view bytes);
  /// What was appended is safe from now on.
  Status Sync();
  /// After a Sync that failed for want of room: gives up some MiB at the end and makes the rest safe, or
  /// gives up all that was not safe before.
  Status Shorten();
  /// Reads some of what was appended at `offset`; safe from any thread.
  Result<std::size_t> ReadAt(std::uint64_t offset, std::span<char> out) const;
  /// The next one begins anew. What is here can still be read.
  Status Forget();
  /// This one begins anew: nothing is here.
  Status Empty();
  /// The file turned out to have so many bytes; where more are here, it begins anew.
  Status Resize(std::uint64_t size);
  /// All of it was decoded, of what has this checksum.
  void DecodedFrom(std::string sent) { state_.sent = std::move(sent); }

 private:
  static Result<std::unique_ptr<PartFile>> OpenAt(FileDescriptor file, std::string path, std::string identity,
                                                  std::uint64_t size, bool must_be_ours);
  Status Drop(DropNote note, std::uint64_t size);

  /// The first bytes, and their checksum.
  struct Front {
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;
  };
  Status CutTo(Front front);
  Front front() const { return {state_.bytes, state_.crc32c}; }

  PartFile(std::string path, FileDescriptor file, PartState state)
      : path_(std::move(path)), file_(std::move(file)), state_(std::move(state)), safe_(front()) {}

  const std::string path_;
  const FileDescriptor file_;
  PartState state_;
  Front safe_;           // by the journal that is there
  Front mark_, before_;  // some MiB behind the end: the later of two, and the earlier
};

}  // namespace pipeline
