#include "formats/archive_text.h"

#include <algorithm>
#include <utility>

#include "base/byte_reader.h"
#include "base/str.h"
#include "formats/compression.h"
#include "formats/known_format.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kAlwaysAllowed = std::uint64_t{16} << 20;

/// Gives bytes that were read before, and then the rest.
class Reread : public ByteReader {
 public:
  Reread(std::string front, std::unique_ptr<ByteReader> rest)
      : front_(std::move(front)), rest_(std::move(rest)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (given_ == front_.size()) return rest_->Read(out);
    const std::size_t bytes = std::min(out.size(), front_.size() - given_);
    std::copy_n(front_.data() + given_, bytes, out.data());
    given_ += bytes;
    return bytes;
  }

 private:
  const std::string front_;
  const std::unique_ptr<ByteReader> rest_;
  std::size_t given_ = 0;
};

/// Gives the bytes of the archive's current member.
class MemberBytes : public ByteReader {
 public:
  explicit MemberBytes(ArchiveReader& archive) : archive_(archive) {}
  Result<std::size_t> Read(std::span<char> out) override { return archive_.Read(out); }

 private:
  ArchiveReader& archive_;
};

/// Returns the text of a member: decompressed according to its first bytes, then decoded according to
/// `rules`. `name` is the member's own.
Result<std::unique_ptr<ByteReader>> Decoded(std::string_view name, ArchiveReader& archive,
                                            const ArchiveRules& rules,
                                            std::shared_ptr<EncodingChoice> choice) {
  std::unique_ptr<ByteReader> reader = std::make_unique<MemberBytes>(archive);
  Compression compression;
  for (int layers = 0; layers < 2; ++layers) {
    ASSIGN_OR_RETURN(std::string front, ReadFront(*reader, std::max(kArchiveFrontBytes, kKnownFormatBytes)));
    if (DetectArchive(front))
      return Status(Code::kUnimplemented,
                    "is an archive inside an archive; unpack it first, or leave it out with `members`");
    if (layers == 0) {
      ASSIGN_OR_RETURN(compression, DetectCompression(front, name, "rename it in the archive"));
    } else {
      RETURN_IF_ERROR(RefuseNestedCompression(front, compression));
    }
    if (layers > 0 || compression.is_plain())
      if (const Status known = RefuseKnownFormat(front, rules.forms); !known.ok())
        return Status(known.code(), StrCat(known.message(),
                                           "; `members` says which are read, and a * of its "
                                           "patterns takes names that begin with a dot, too"));
    reader = std::make_unique<Reread>(std::move(front), std::move(reader));
    if (layers > 0 || compression.is_plain()) break;
    ASSIGN_OR_RETURN(reader, compression.Decode(std::move(reader)));
  }
  return NewEncodingReader(std::move(reader), {rules.encoding, {}, rules.by_letters}, 0, std::move(choice));
}

/// Reads the members one after another. max_ratio is checked against `file_bytes`, the bytes of the file
/// read so far, and `size`, the size of the file. One Read never returns bytes of two members.
class ArchiveText final : public RepeatingReader {
 public:
  ArchiveText(std::unique_ptr<ArchiveReader> archive, ArchiveRules rules,
              std::function<std::uint64_t()> file_bytes, std::uint64_t size,
              std::shared_ptr<MemberBorders> borders)
      : archive_(std::move(archive)),
        rules_(std::move(rules)),
        file_bytes_(std::move(file_bytes)),
        size_(size),
        borders_(std::move(borders)) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    while (!ended_) {
      if (member_ == nullptr) {
        ASSIGN_OR_RETURN(const bool more, OpenMember());
        ended_ = !more;
        continue;
      }
      Result<std::size_t> got = member_->Read(out);
      if (!got.ok()) return std::move(got).status().Annotate(StrCat("member '", name_, "'"));
      if (*got > 0) {
        text_ += *got;
        RETURN_IF_ERROR(CheckRatio());
        return *got;
      }
      member_.reset();
    }
    return std::size_t{0};
  }

  // Opens the next selected member; false at the end of the archive.
  Result<bool> OpenMember() {
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<ArchiveMember> member, archive_->Next());
      if (!member) return false;
      const bool named = rules_.members.empty() ||
                         std::any_of(rules_.members.begin(), rules_.members.end(), [&](const auto& pattern) {
                           return MatchesPattern(pattern, member->name);
                         });
      using Counts = MemberBorders::Counts;
      borders_->Count(!member->is_file ? &Counts::not_files : named ? &Counts::members : &Counts::left_out);
      if (!member->is_file || !named) continue;
      name_ = Printable(member->name);
      if (member->encrypted)
        return Status(Code::kInvalidArgument,
                      StrCat("member '", name_, "' is encrypted; decrypt it first, or ",
                             "leave it out with `members`"));
      std::uint8_t split = 0;
      if (rules_.split_of) {
        ASSIGN_OR_RETURN(split, rules_.split_of(member->name));
      }
      member_text_ = text_;
      member_bytes_ = file_bytes_();
      const auto choice = std::make_shared<EncodingChoice>();
      Result<std::unique_ptr<ByteReader>> text = Decoded(member->name, *archive_, rules_, choice);
      if (!text.ok()) return std::move(text).status().Annotate(StrCat("member '", name_, "'"));
      member_ = std::move(text).value();
      borders_->Add({text_, name_, split, choice});
      return true;
    }
  }

  Status CheckRatio() {
    const std::uint64_t read = file_bytes_();
    const auto allowed = [this](std::uint64_t text, std::uint64_t bytes) {
      return text <= kAlwaysAllowed || text / rules_.max_ratio <= bytes;
    };
    // Bytes that are read several times, because members of a zip overlap, count once.
    const bool member = allowed(text_ - member_text_, read - member_bytes_);
    if (member && allowed(text_, std::min(read, size_))) return {};
    return Status(
        Code::kResourceExhausted,
        StrCat(member ? "the archive" : StrCat("member '", name_, "'"), " expands to more than ",
               rules_.max_ratio, " times its size: no text does; leave it out with `members`, or raise ",
               "max_ratio if it is what you want"));
  }

  const std::unique_ptr<ArchiveReader> archive_;
  const ArchiveRules rules_;
  const std::function<std::uint64_t()> file_bytes_;
  const std::uint64_t size_;
  const std::shared_ptr<MemberBorders> borders_;
  std::string name_;                    // name of the member, printable
  std::unique_ptr<ByteReader> member_;  // decoded; null between members
  std::uint64_t text_ = 0;
  std::uint64_t member_text_ = 0;   // offset in the text where the member began
  std::uint64_t member_bytes_ = 0;  // the same in the file
  bool ended_ = false;
};

}  // namespace

void MemberBorders::Add(Border border) {
  const Lock lock(mutex_);
  // A member without bytes leaves no entry, so that many of them take no memory.
  if (!borders_.empty() && borders_.back().offset == border.offset) borders_.pop_back();
  borders_.push_back(std::move(border));
}

void MemberBorders::Count(std::uint64_t Counts::*what) {
  const Lock lock(mutex_);
  ++(counts_.*what);
}

std::optional<MemberBorders::Border> MemberBorders::Take(std::uint64_t offset) {
  const Lock lock(mutex_);
  if (borders_.empty() || borders_.front().offset > offset) return std::nullopt;
  Border border = std::move(borders_.front());
  borders_.pop_front();
  return border;
}

std::optional<std::uint64_t> MemberBorders::next() const {
  const Lock lock(mutex_);
  return borders_.empty() ? std::nullopt : std::optional(borders_.front().offset);
}

MemberBorders::Counts MemberBorders::counts() const {
  const Lock lock(mutex_);
  return counts_;
}

std::unique_ptr<ByteReader> NewArchiveText(std::unique_ptr<ArchiveReader> archive, ArchiveRules rules,
                                           std::function<std::uint64_t()> file_bytes, std::uint64_t size,
                                           std::shared_ptr<MemberBorders> borders) {
  return std::make_unique<ArchiveText>(std::move(archive), std::move(rules), std::move(file_bytes), size,
                                       std::move(borders));
}

}  // namespace pipeline
