#include "stages/sources/decoded_input.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "base/damaged_bytes.h"
#include "base/str.h"
#include "formats/known_format.h"
#include "formats/line_rules.h"
#include "stages/sources/block_decoder.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kTextPerByte = 3;       // about, of compressed text
constexpr std::size_t kPassedBytes = 64 << 10;  // at a time, of those before the wanted ones

/// Gives at least kEnoughBytes at once, as long as there are so many. Each read is passed from thread to
/// thread, which takes longer than to read a small member.
class WholeReads : public ByteReader {
 public:
  explicit WholeReads(std::unique_ptr<ByteReader> input) : input_(std::move(input)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    std::size_t bytes = 0;
    while (end_.ok() && *end_ > 0 && bytes < std::min(out.size(), kEnoughBytes)) {
      end_ = input_->Read(out.subspan(bytes));
      if (end_.ok()) bytes += *end_;
    }
    return bytes > 0 ? Result<std::size_t>(bytes) : end_;
  }

 private:
  static constexpr std::size_t kEnoughBytes = 64 << 10;
  const std::unique_ptr<ByteReader> input_;
  Result<std::size_t> end_ = std::size_t{1};  // the result of the last read; 0: the end
};

/// Marks data loss as damaged bytes at an unknown position, unless it has a detail already.
Status AsDamaged(Status failure) {
  if (failure.code() != Code::kDataLoss || failure.Detail<StatusDetail>() != nullptr) return failure;
  return std::move(failure).With(std::make_shared<DamagedBytes>());
}

/// Marks failures to decode as damaged bytes; a failure of the file has a reason of its own.
class CheckedReads : public ByteReader {
 public:
  explicit CheckedReads(std::unique_ptr<ByteReader> input) : input_(std::move(input)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    Result<std::size_t> got = input_->Read(out);
    if (got.ok()) return got;
    return AsDamaged(std::move(got).status());
  }

 private:
  const std::unique_ptr<ByteReader> input_;
};

// The streaming decoder has better messages about failures of the file itself, with their position.
bool IsAboutTheFile(Code code) {
  return code == Code::kDataLoss || code == Code::kResourceExhausted || code == Code::kUnimplemented;
}

}  // namespace

Result<DecodedInput> DecodedInput::Open(const InputFile& input, const InputRules& rules, int threads,
                                        std::uint64_t memory, const std::stop_token& stop) {
  Result<DecodedInput> opened = LookAt(input, rules, threads, memory, stop);
  if (!opened.ok()) return AsDamaged(std::move(opened).status());
  return opened;
}

Result<DecodedInput> DecodedInput::LookAt(const InputFile& input, const InputRules& rules, int threads,
                                          std::uint64_t memory, const std::stop_token& stop) {
  DecodedInput decoded;
  decoded.file_ = input.file;
  decoded.fixed_ = rules.encoding;
  decoded.by_letters_ = rules.by_letters;
  if (rules.compression) {
    decoded.compression_ = *rules.compression;
  } else {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, input.file->Open(0, stop));
    ASSIGN_OR_RETURN(const std::string front, ReadFront(*reader, kMagicBytes));
    const bool zip = DetectArchive(front) == ArchiveKind::kZip || rules.archives == Archives::kZip;
    if (!zip || rules.archives == Archives::kTar) {
      const bool as_it_is = rules.archives == Archives::kNone && DetectArchive(front) == ArchiveKind::kZip;
      const std::string if_text = StrCat("set ", rules.compression_key, ": plain");
      ASSIGN_OR_RETURN(decoded.compression_,
                       as_it_is ? Compression() : DetectCompression(front, input.name, if_text));
    }
  }
  if (decoded.compression_.name() == kXzName && !rules.from_front) {
    Result<XzIndex> index = ReadXzIndex(*input.file, stop);
    if (!index.ok() && !IsAboutTheFile(index.status().code())) return std::move(index).status();
    if (index.ok() && index->blocks.size() > 1) {
      decoded.threads_ = BlockDecoderThreads(*index, threads, memory);
      decoded.index_ = std::make_unique<const XzIndex>(std::move(index).value());
    }
  }
  RETURN_IF_ERROR(decoded.FindArchive(rules, input.name, stop));
  const bool has_members = !decoded.compression_.is_plain() && decoded.compression_.name() != kXzName;
  if (has_members && !decoded.archive_ && decoded.fixed_.value_or(Encoding::kUtf8) == Encoding::kUtf8)
    decoded.member_ends_ = std::make_shared<MemberEnds>();
  return decoded;
}

Status DecodedInput::FindArchive(const InputRules& rules, std::string_view name,
                                 const std::stop_token& stop) {
  if (rules.archives == Archives::kTar) {
    archive_ = ArchiveKind::kTar;
  } else if (rules.archives == Archives::kZip) {
    archive_ = ArchiveKind::kZip;
  } else {
    RETURN_IF_ERROR(LookAtText(rules, name, stop));
  }
  if (archive_ == ArchiveKind::kZip && !compression_.is_plain())
    return Status(Code::kInvalidArgument, "a zip cannot be compressed itself; leave out its compression");
  if (!archive_) return {};
  archive_rules_ = rules.archive;
  archive_rules_.encoding = rules.encoding;
  archive_rules_.by_letters = rules.by_letters;
  members_ = std::make_shared<MemberBorders>();
  bytes_read_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  file_ = std::make_shared<CountingFile>(std::move(file_),
                                         [bytes = bytes_read_](std::uint64_t, std::string_view read) {
                                           bytes->fetch_add(read.size(), std::memory_order_relaxed);
                                         });
  return {};
}

// Finds out the form of the decompressed bytes.
Status DecodedInput::LookAtText(const InputRules& rules, std::string_view name, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> bytes, file_->Open(0, stop));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, compression_.Decode(std::move(bytes)));
  const Result<std::string> front = ReadFront(*reader, std::max(kArchiveFrontBytes, kKnownFormatBytes));
  if (!front.ok() && !IsAboutTheFile(front.status().code())) return front.status();
  if (!front.ok()) return {};  // Read reports it
  const std::optional<ArchiveKind> archive = DetectArchive(*front);
  if (rules.archives == Archives::kDetect) {
    archive_ = archive;
    if (archive_ == ArchiveKind::kZip && !compression_.is_plain())
      return Status(Code::kUnimplemented,
                    StrCat("is a zip inside ", compression_.name(), " data; decompress it first"));
    if (!archive_ && ArchiveByName(name) == ArchiveKind::kTar)
      return Status(Code::kDataLoss,
                    "is named as a tar archive but holds none; fetch the file again, or set "
                    "archive: none if it is text");
    if (archive_ == ArchiveKind::kTar) return {};
  } else if (archive) {
    return {};  // `archive: none` reads an archive as text
  }
  if (!compression_.is_plain()) RETURN_IF_ERROR(RefuseNestedCompression(*front, compression_));
  return RefuseKnownFormat(*front, rules.forms);
}

std::optional<StreamPosition> DecodedInput::DecodedFrom(std::uint64_t raw) const {
  if (member_ends_) return member_ends_->LastUpTo(raw);
  if (!index_ || !seekable()) return std::nullopt;
  const std::size_t at = XzBlockAt(*index_, raw);
  if (at == index_->blocks.size()) return std::nullopt;
  return StreamPosition{index_->blocks[at].offset, index_->blocks[at].raw_offset};
}

std::optional<std::uint64_t> DecodedInput::bytes_to_cut() const {
  if (!seekable()) return member_ends_ ? std::optional(kTextPerByte * file_->size()) : std::nullopt;
  return index_ ? index_->raw_bytes : file_->size();
}

Result<std::unique_ptr<ByteReader>> DecodedInput::Read(RawRange range, std::optional<Encoding> known,
                                                       std::shared_ptr<EncodingChoice> choice,
                                                       const std::stop_token& stop,
                                                       const StreamPosition& from) const {
  if (!archive_) {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> bytes, ReadBytes(range, from, stop));
    if (!compression_.is_plain()) bytes = std::make_unique<CheckedReads>(std::move(bytes));
    return NewEncodingReader(std::move(bytes), {fixed_, known, by_letters_}, range.begin, std::move(choice));
  }
  std::unique_ptr<ArchiveReader> archive;
  if (archive_ == ArchiveKind::kZip) {
    ASSIGN_OR_RETURN(archive, OpenZip(*file_, stop));
  } else {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> bytes, ReadBytes({0, kNoLimit}, {}, stop));
    ASSIGN_OR_RETURN(archive, OpenTar(std::move(bytes)));
  }
  auto text = NewArchiveText(
      std::move(archive), archive_rules_,
      [read = bytes_read_] { return read->load(std::memory_order_relaxed); }, file_->size(), members_);
  return std::make_unique<CheckedReads>(std::make_unique<WholeReads>(std::move(text)));
}

Result<std::unique_ptr<ByteReader>> DecodedInput::ReadBytes(RawRange range, const StreamPosition& from,
                                                            const std::stop_token& stop) const {
  if (index_) return NewBlockDecoder(*file_, *index_, range.begin, range.probable_end, threads_, stop);
  const StreamPosition begin = compression_.is_plain() ? StreamPosition{range.begin, range.begin} : from;
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> bytes, file_->Open(begin.stored, stop));
  if (member_ends_) member_ends_->Add(begin);
  ASSIGN_OR_RETURN(bytes, compression_.Decode(std::move(bytes), begin, member_ends_));
  std::string passed(kPassedBytes, '\0');
  for (std::uint64_t left = range.begin - begin.raw; left > 0;) {
    const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(left, passed.size()));
    ASSIGN_OR_RETURN(const std::size_t got, bytes->Read(std::span(passed).first(most)));
    if (got == 0) break;  // the reader finds the end, too
    left -= got;
  }
  return bytes;
}

}  // namespace pipeline
