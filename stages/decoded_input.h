// The text of one input as UTF-8, whatever its compression and encoding, from any offset where that is
// possible.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/byte_reader.h"
#include "formats/archive_text.h"
#include "formats/compression.h"
#include "formats/encoding_reader.h"
#include "formats/xz.h"
#include "records/source.h"
#include "stages/file_splits.h"

namespace pipeline {

enum class Archives : std::uint8_t { kDetect, kNone, kTar, kZip };

/// How the bytes of inputs are to be taken.
struct InputRules {
  std::optional<Compression> compression;  // absent: by the first bytes
  Archives archives = Archives::kDetect;
  ArchiveRules archive;
  std::optional<FileSplits> splits;  // of files by their names, or else of their members
  bool from_front = false;           // the end may never come: nothing is looked up there
  std::optional<Encoding> encoding;  // of files, and of members; absent: the bytes decide
  bool markup_is_text = false;       // formats of text that formats/known_formats.md refuses are read, too
};

/// Immutable; must outlive its readers. Messages do not have the input's name in them.
class DecodedInput {
 public:
  /// Looks at the front of the input, and for xz at its index; refuses what formats/known_formats.md names.
  /// More than one block of an .xz is decoded on up to `threads` threads within `memory` bytes; where one
  /// block does not fit, front to back.
  static Result<DecodedInput> Open(const InputFile& input, const InputRules& rules, int threads,
                                   std::uint64_t memory, const std::stop_token& stop);

  bool seekable() const {
    return !archive_ && (compression_ == Compression::kPlain || threads_ > 0) &&
           fixed_.value_or(Encoding::kUtf8) == Encoding::kUtf8;
  }
  /// From `raw_offset` on, which is 0 unless seekable(): then all in front of it is UTF-8, as `known` says,
  /// or ASCII. `choice` is told which encoding the bytes decide on, unless it is an archive; null: nobody is.
  Result<std::unique_ptr<ByteReader>> Read(std::uint64_t raw_offset, std::optional<Encoding> known,
                                           std::shared_ptr<EncodingChoice> choice,
                                           const std::stop_token& stop) const;

  /// Where the members of an archive begin in what is read; null where the input is none. Their text may
  /// be read once only.
  const std::shared_ptr<MemberBorders>& members() const { return members_; }

 private:
  DecodedInput() = default;
  static Result<DecodedInput> LookAt(const InputFile& input, const InputRules& rules, int threads,
                                     std::uint64_t memory, const std::stop_token& stop);
  Status FindArchive(const InputRules& rules, std::string_view name, const std::stop_token& stop);
  Status LookAtText(const InputRules& rules, std::string_view name, const std::stop_token& stop);
  Result<std::unique_ptr<ByteReader>> ReadBytes(std::uint64_t raw_offset, const std::stop_token& stop) const;

  std::shared_ptr<const ByteFile> file_;
  Compression compression_ = Compression::kPlain;
  std::unique_ptr<const XzIndex> index_;  // null unless threads_ > 0; stays where it is when this moves
  int threads_ = 0;                       // that decode blocks; 0: front to back
  std::optional<Encoding> fixed_;         // absent: the bytes decide
  std::optional<ArchiveKind> archive_;
  ArchiveRules archive_rules_;
  std::shared_ptr<MemberBorders> members_;
  std::shared_ptr<std::atomic<std::uint64_t>> bytes_read_;  // of an archive's file
};

}  // namespace pipeline
