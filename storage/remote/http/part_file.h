// The downloaded front of a remote file, kept on disk during the download. Format:
// storage/remote/http/part_file.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// The state of a part file that survives a crash of the machine.
struct PartState {
  std::string identity;      // of the remote file
  std::uint64_t size = 0;    // of the remote file
  std::uint64_t bytes = 0;   // downloaded, from its front
  std::uint32_t crc32c = 0;  // of those bytes
  std::string sent = {};     // checksum of the encoded bytes, if these were decoded; empty: none was wanted
  bool operator==(const PartState&) const = default;
};

/// kDataLoss if the text is not a journal of this version.
Result<PartState> ParsePartState(std::string_view text);
std::string FormatPartState(const PartState& state);
/// Reads the journal of the part file `path`; absent: there is no usable one. `must_be_ours`: a journal of
/// another user is not usable.
std::optional<PartState> ReadPartState(const std::string& path, bool must_be_ours = false);

/// A note beside a part file whose bytes failed to decode: the bytes from `from` on must be dropped, or
/// were dropped.
struct DropNote {
  std::string identity;    // of the remote file
  std::uint64_t from = 0;  // the first byte that is not trusted
  bool is_done = false;
  bool operator==(const DropNote&) const = default;
};

/// kDataLoss if the text is not a note of this version.
Result<DropNote> ParseDropNote(std::string_view text);
std::string FormatDropNote(const DropNote& note);

/// Reads the note of the part file `path` for this state of its remote file; absent: none.
std::optional<DropNote> ReadDropNote(const std::string& path, std::string_view identity);
Status WriteDropNote(const std::string& path, const DropNote& note);

/// One thread appends; any thread may read appended bytes. One process at a time: the owner of the
/// directory.
class PartFile {
 public:
  /// Drops the bytes that a note says to drop. Keeps bytes of this identity and size, and a complete file
  /// of this identity with another size (then state() has that size, not `size`); drops everything else.
  /// Creates the directory.
  static Result<std::unique_ptr<PartFile>> Open(std::string path, std::string identity, std::uint64_t size);
  /// As Open, for a part file in a directory that others use, too (storage/kept_part.h): opened by
  /// OpenKeptPart, and not resumed if its journal belongs to another user.
  static Result<std::unique_ptr<PartFile>> OpenAmongOthers(std::string path, std::string identity,
                                                           std::uint64_t size);

  /// The state as the appending thread sees it, synced or not.
  const PartState& state() const { return state_; }
  bool is_whole() const { return state_.bytes == state_.size; }
  const std::string& path() const { return path_; }

  Status Append(std::string_view bytes);
  /// Makes the appended bytes durable.
  Status Sync();
  /// Call after Sync failed because the disk is full: drops some MiB at the end and makes the rest durable,
  /// or drops all bytes that were not durable before.
  Status Shorten();
  /// Reads the appended bytes at `offset`, as far as there are any. Safe from any thread.
  Result<std::size_t> ReadAt(std::uint64_t offset, std::span<char> out) const;
  /// Returns the crc32c of the first `bytes` appended bytes, and calls `visit` with each piece of them; its
  /// error ends the reading.
  Result<std::uint32_t> HashFront(std::uint64_t bytes,
                                  const std::function<Status(std::string_view piece)>& visit) const;
  /// Makes the next download start again. The bytes can still be read.
  Status Forget();
  /// Drops all bytes: this download starts again.
  Status Empty();
  /// Sets the size of the remote file; drops all bytes if more than that are here.
  Status Resize(std::uint64_t size);
  /// Records that the file was decoded from bytes with this checksum.
  void DecodedFrom(std::string sent) { state_.sent = std::move(sent); }

 private:
  static Result<std::unique_ptr<PartFile>> OpenAt(FileDescriptor file, std::string path, std::string identity,
                                                  std::uint64_t size, bool must_be_ours);
  Status Drop(DropNote note, std::uint64_t size);

  /// A number of bytes from the front, and their checksum.
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
  Front safe_;           // durable, by the journal
  Front mark_, before_;  // two earlier ends, some MiB apart: the later and the earlier
};

}  // namespace pipeline
