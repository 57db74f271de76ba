// Decodes the text of one input to UTF-8, from any compression and encoding, and from any offset if
// possible.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/byte_reader.h"
#include "dag/records/source.h"
#include "formats/archive_text.h"
#include "formats/compression.h"
#include "formats/encoding_reader.h"
#include "formats/known_format.h"
#include "formats/member_ends.h"
#include "formats/xz.h"
#include "stages/sources/file_splits.h"

namespace pipeline {

enum class Archives : std::uint8_t { kDetect, kNone, kTar, kZip };

/// Rules for the bytes of inputs.
struct InputRules {
  std::string_view compression_key = "format";  // of the stage, for messages
  std::optional<Compression> compression;       // absent: detected from the first bytes
  Archives archives = Archives::kDetect;
  ArchiveRules archive;
  std::optional<FileSplits> splits;    // by file names, or else by names of archive members
  bool from_front = false;             // the end may never arrive: do not read there
  std::optional<Encoding> encoding;    // of files and members; absent: detected
  bool by_letters = true;              // how it is detected: GuessEncoding
  TextForms forms = TextForms::kRows;  // others are refused
};

/// The part of the decoded text that is needed.
struct RawRange {
  std::uint64_t begin = 0;
  /// Little or nothing is read from here on, so nothing is decoded ahead there. It can be read all the same.
  std::uint64_t probable_end = 0;
};

/// Immutable; must outlive its readers. Messages do not contain the input's name.
class DecodedInput {
 public:
  /// Reads the front of the input, and the index of an .xz; refuses the formats in
  /// formats/known_formats.md. Decodes an .xz of several blocks on as many of `threads` threads as have room
  /// for their blocks in `memory` bytes, and on one thread that holds no block if there is room for fewer
  /// than two.
  static Result<DecodedInput> Open(const InputFile& input, const InputRules& rules, int threads,
                                   std::uint64_t memory, const std::stop_token& stop);

  bool seekable() const {
    return !archive_ && (compression_.is_plain() || index_ != nullptr) &&
           fixed_.value_or(Encoding::kUtf8) == Encoding::kUtf8;
  }
  /// True: it is compressed, and its bytes can only be decoded in order.
  bool decodes_on_one_thread() const {
    return threads_ <= 1 && (!compression_.is_plain() || archive_ == ArchiveKind::kZip);
  }
  /// The ends of the members that readers of a compressed file pass, if they can begin at one. Null: they
  /// cannot.
  const std::shared_ptr<MemberEnds>& member_ends() const { return member_ends_; }
  /// The position at which a reader from `raw` on begins to decode: a block or a member, as far as readers
  /// have passed it. Absent: at `raw` itself, or at the front.
  std::optional<StreamPosition> DecodedFrom(std::uint64_t raw) const;
  /// Bytes of the text, about as many if the file has members, if readers can begin inside. Absent: they
  /// cannot.
  std::optional<std::uint64_t> bytes_to_cut() const;
  /// Reads from `range.begin`. It is above 0 only if the input is seekable() or `from` is the end of a member
  /// before it; `known` is then the encoding of the bytes before it; absent: they are ASCII. `choice`
  /// receives the detected encoding, except for archives; may be null.
  Result<std::unique_ptr<ByteReader>> Read(RawRange range, std::optional<Encoding> known,
                                           std::shared_ptr<EncodingChoice> choice,
                                           const std::stop_token& stop,
                                           const StreamPosition& from = {}) const;

  /// The offsets at which archive members begin in the text; null: the input is not an archive. An archive
  /// can be read only once.
  const std::shared_ptr<MemberBorders>& members() const { return members_; }

 private:
  DecodedInput() = default;
  static Result<DecodedInput> LookAt(const InputFile& input, const InputRules& rules, int threads,
                                     std::uint64_t memory, const std::stop_token& stop);
  Status FindArchive(const InputRules& rules, std::string_view name, const std::stop_token& stop);
  Status LookAtText(const InputRules& rules, std::string_view name, const std::stop_token& stop);
  Result<std::unique_ptr<ByteReader>> ReadBytes(RawRange range, const StreamPosition& from,
                                                const std::stop_token& stop) const;

  std::shared_ptr<const ByteFile> file_;
  Compression compression_;
  std::unique_ptr<const XzIndex> index_;  // of an .xz of several blocks; its address survives a move
  int threads_ = 1;                       // that decode blocks
  std::optional<Encoding> fixed_;         // absent: detected
  bool by_letters_ = true;
  std::optional<ArchiveKind> archive_;
  ArchiveRules archive_rules_;
  std::shared_ptr<MemberBorders> members_;
  std::shared_ptr<MemberEnds> member_ends_;
  std::shared_ptr<std::atomic<std::uint64_t>> bytes_read_;  // from the archive file
};

}  // namespace pipeline
