#include "formats/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <utility>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t kArchiveInputBytes = 64 << 10;
constexpr std::size_t kTarBlock = 512;
constexpr std::array<std::string_view, 5> kTarNames = {".tar", ".tgz", ".tbz2", ".txz", ".tzst"};

// libarchive converts names from and to the charset of the locale. The thread has a locale with UTF-8 during
// the life of this object, so that names, and the selection of members by patterns, are the same on every
// machine.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  const locale_t locale_;
  locale_t before_ = nullptr;
};

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

/// The input of libarchive: read front to back, and from any offset if it is a file.
class Input {
 public:
  explicit Input(std::unique_ptr<ByteReader> reader)
      : reader_(std::move(reader)), buffer_(kArchiveInputBytes, '\0') {}
  Input(const ByteFile& file, std::stop_token stop)
      : file_(&file), stop_(std::move(stop)), buffer_(kArchiveInputBytes, '\0') {}

  static la_ssize_t Read(archive*, void* self, const void** bytes) {
    auto& input = *static_cast<Input*>(self);
    *bytes = input.buffer_.data();
    return input.Fill();
  }
  static la_int64_t Seek(archive*, void* self, la_int64_t offset, int whence) {
    auto& input = *static_cast<Input*>(self);
    const auto size = static_cast<la_int64_t>(input.file_->size());
    const la_int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_END ? size : input.at_;
    input.at_ = std::clamp<la_int64_t>(base + offset, 0, size);
    input.reader_.reset();
    return input.at_;
  }

  /// The failure of the input itself, which says more than libarchive's message about it; OK: none.
  const Status& failure() const { return failure_; }
  /// Returns whether the bytes that were read end in a block of zeros.
  bool ends_in_zeros() const { return zeros_ >= kTarBlock; }

 private:
  la_ssize_t Fill() {
    if (reader_ == nullptr && failure_.ok()) {
      auto opened = file_->Open(static_cast<std::uint64_t>(at_), stop_);
      if (opened.ok())
        reader_ = std::move(opened).value();
      else
        failure_ = std::move(opened).status();
    }
    if (!failure_.ok()) return ARCHIVE_FATAL;
    Result<std::size_t> got = reader_->Read(buffer_);
    if (!got.ok()) {
      failure_ = std::move(got).status();
      return ARCHIVE_FATAL;
    }
    const std::string_view bytes = std::string_view(buffer_).substr(0, *got);
    const std::size_t last = bytes.find_last_not_of('\0');
    zeros_ = last == std::string_view::npos ? zeros_ + bytes.size() : bytes.size() - last - 1;
    at_ += static_cast<la_int64_t>(*got);
    return static_cast<la_ssize_t>(*got);
  }

  const ByteFile* const file_ = nullptr;
  const std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // null: after a seek
  la_int64_t at_ = 0;
  std::string buffer_;
  std::uint64_t zeros_ = 0;
  Status failure_;
};

class Reader : public ArchiveReader {
 public:
  Reader(ArchiveKind kind, Input input)
      : kind_(kind), input_(std::move(input)), archive_(archive_read_new()) {}

  Status Start() {
    const Utf8Locale locale;
    if (archive_ == nullptr) return Status(Code::kResourceExhausted, "no memory to read an archive");
    archive* const handle = archive_.get();
    if (kind_ == ArchiveKind::kTar) {
      archive_read_support_format_tar(handle);
      archive_read_set_options(handle, "tar:read_concatenated_archives");
    } else {
      archive_read_support_format_zip_seekable(handle);
      archive_read_set_seek_callback(handle, Input::Seek);
    }
    archive_read_set_read_callback(handle, Input::Read);
    archive_read_set_callback_data(handle, &input_);
    if (archive_read_open1(handle) == ARCHIVE_OK) return {};
    if (!input_.failure().ok()) return input_.failure();
    return Damaged(kind_ == ArchiveKind::kZip ? "no central directory stands at its end: truncated"
                                              : "no header stands at its front");
  }

  Result<std::optional<ArchiveMember>> Next() override {
    const Utf8Locale locale;
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(archive_.get(), &entry);
    if (!input_.failure().ok()) return input_.failure();
    if (code == ARCHIVE_EOF) {
      if (kind_ == ArchiveKind::kTar && !input_.ends_in_zeros())
        return Damaged("no block of zeros stands at its end: truncated");
      return std::nullopt;
    }
    // Warnings concern times, owners and names in another charset; nobody reads these here.
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return Failure();
    ArchiveMember member;
    const char* const utf8 = archive_entry_pathname_utf8(entry);
    const char* const name = utf8 != nullptr ? utf8 : archive_entry_pathname(entry);
    if (name != nullptr) member.name = name;
    member.is_file = archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr;
    member.encrypted = archive_entry_is_encrypted(entry) != 0;
    in_member_ = true;
    return member;
  }

  Result<std::size_t> Read(std::span<char> out) override {
    const la_ssize_t got = archive_read_data(archive_.get(), out.data(), out.size());
    if (!input_.failure().ok()) return input_.failure();
    // libarchive warns about a checksum that differs; here it is a failure.
    if (got < 0) return Failure();
    return static_cast<std::size_t>(got);
  }

 private:
  Status Failure() const {
    const char* const why = archive_error_string(archive_.get());
    std::string_view reason = why != nullptr ? why : "the data breaks the format";
    reason = reason.substr(0, reason.find_last_not_of(" \n") + 1);
    for (const std::string_view unknown : {"nsupported"sv, "not supported"sv, "is disabled"sv})
      if (reason.find(unknown) != std::string_view::npos)
        return Status(Code::kUnimplemented, StrCat(Where(), reason, "; unpack it and name its files"));
    if (archive_errno(archive_.get()) == ENOMEM)
      return Status(Code::kResourceExhausted, StrCat(Where(), "no memory to decode it"));
    return Damaged(reason);
  }

  Status Damaged(std::string_view why) const {
    return Status(Code::kDataLoss, StrCat("damaged ", Where(), why, "; fetch the file again"));
  }

  std::string Where() const {
    const std::string_view what = kind_ == ArchiveKind::kTar ? "tar archive" : "zip archive";
    if (!in_member_) return StrCat(what, ": ");
    return StrCat(what, ", from byte ", archive_read_header_position(archive_.get()), " on: ");
  }

  const ArchiveKind kind_;
  Input input_;
  bool in_member_ = false;
  const Archive archive_;  // last, because it reads from input_
};

Result<std::unique_ptr<ArchiveReader>> Started(std::unique_ptr<Reader> reader) {
  RETURN_IF_ERROR(reader->Start());
  return reader;
}

bool IsTarHeader(std::string_view block) {
  if (block.size() < kTarBlock) return false;
  constexpr std::size_t kSum = 148, kSumBytes = 8;
  std::string_view field = block.substr(kSum, kSumBytes);
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  const std::optional<unsigned> promised = TakeNumber<unsigned>(field, 8);
  if (!promised) return false;
  unsigned sum = kSumBytes * ' ';
  int signed_sum = kSumBytes * ' ';  // some old writers sum signed bytes
  for (std::size_t at = 0; at < kTarBlock; ++at) {
    if (at >= kSum && at < kSum + kSumBytes) continue;
    sum += static_cast<unsigned char>(block[at]);
    signed_sum += static_cast<signed char>(block[at]);
  }
  return *promised == sum || static_cast<int>(*promised) == signed_sum;
}

}  // namespace

std::optional<ArchiveKind> DetectArchive(std::string_view front) {
  for (const std::string_view magic : {"PK\x03\x04"sv, "PK\x05\x06"sv, "PK\x07\x08"sv})
    if (front.starts_with(magic)) return ArchiveKind::kZip;
  if (IsTarHeader(front)) return ArchiveKind::kTar;
  return std::nullopt;
}

std::optional<ArchiveKind> ArchiveByName(std::string_view name) {
  if (name.ends_with(".zip")) return ArchiveKind::kZip;
  for (const std::string_view suffix : kTarNames)
    if (name.ends_with(suffix)) return ArchiveKind::kTar;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && name.substr(0, dot).ends_with(".tar")) return ArchiveKind::kTar;
  return std::nullopt;
}

Result<std::unique_ptr<ArchiveReader>> OpenTar(std::unique_ptr<ByteReader> input) {
  return Started(std::make_unique<Reader>(ArchiveKind::kTar, Input(std::move(input))));
}

Result<std::unique_ptr<ArchiveReader>> OpenZip(const ByteFile& file, std::stop_token stop) {
  return Started(std::make_unique<Reader>(ArchiveKind::kZip, Input(file, std::move(stop))));
}

std::string ArchiveLibraryVersion() {
  const int number = archive_version_number();
  return StrCat(number / 1'000'000, ".", number / 1000 % 1000, ".", number % 1000);
}

}  // namespace pipeline
