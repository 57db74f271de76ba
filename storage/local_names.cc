#include "storage/local_names.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/digest.h"
#include "base/machine.h"
#include "base/result.h"
#include "base/str.h"
#include "base/words.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::string_view kTemporaryMark = ".tmp.";
constexpr std::string_view kPartMark = ".tmp.part-";
constexpr std::size_t kBootLength = 8;
constexpr std::size_t kDigestLength = 16;
/// Bytes of the object's name; the rest of the form takes at most 46 more.
constexpr std::size_t kMaxNamed = 200, kMinCut = kMaxNamed - 3;

/// The front of the boot id, as names have it. Zeros: the machine has none.
const std::string& BootInNames() {
  static const std::string boot =
      BootId().size() < kBootLength ? std::string(kBootLength, '0') : BootId().substr(0, kBootLength);
  return boot;
}

std::string_view CutName(std::string_view object) {
  if (object.size() <= kMaxNamed) return object;
  std::size_t end = kMaxNamed;
  while (end > kMinCut && (static_cast<unsigned char>(object[end]) & 0xc0) == 0x80) --end;
  return object.substr(0, end);
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Status CheckLocalName(std::string_view name) {
  RETURN_IF_ERROR(CheckObjectName(name));
  const auto bad = [name](std::string_view why) {
    return Status(Code::kInvalidArgument, StrCat("object name '", name, "': ", why));
  };
  if (IsUnfinishedName(name.substr(name.rfind('/') + 1)))
    return bad("this form is kept for unfinished files");
  for (std::string_view left = name; !left.empty();) {
    const std::size_t bytes = TakeUntil(left, '/').size();
    if (bytes > kMaxLocalPartBytes)
      return bad(StrCat("has a part of ", bytes, " bytes, where a directory takes ", kMaxLocalPartBytes));
  }
  return {};
}

std::string NewTemporaryName(std::string_view object) {
  static std::atomic<std::uint64_t> next{0};
  return StrCat('.', CutName(object), kTemporaryMark, BootInNames(), '-', getpid(), '-', next.fetch_add(1));
}

std::optional<TemporaryName> ParseTemporaryName(std::string_view name) {
  const std::size_t mark = name.rfind(kTemporaryMark);
  if (name.empty() || name.front() != '.' || mark == std::string_view::npos || mark < 2) return std::nullopt;
  const std::string_view owner = name.substr(mark + kTemporaryMark.size());
  const std::size_t dash = owner.rfind('-');
  if (dash == std::string_view::npos || dash < kBootLength + 2 || owner[kBootLength] != '-')
    return std::nullopt;
  TemporaryName parsed;
  parsed.object = name.substr(1, mark - 1);
  parsed.boot = owner.substr(0, kBootLength);
  const auto pid = ParseNumber<std::uint64_t>(owner.substr(kBootLength + 1, dash - kBootLength - 1));
  if (!std::all_of(parsed.boot.begin(), parsed.boot.end(), IsHex) || !pid || *pid > UINT32_MAX ||
      !ParseNumber<std::uint64_t>(owner.substr(dash + 1)))
    return std::nullopt;
  parsed.pid = static_cast<std::uint32_t>(*pid);
  return parsed;
}

std::string KeptPartName(std::string_view object) {
  return StrCat('.', CutName(object), kPartMark, DigestOf(object).ToHex().substr(0, kDigestLength));
}

std::optional<std::string_view> ParseKeptPart(std::string_view name) {
  if (name.ends_with(kJournalSuffix)) name.remove_suffix(kJournalSuffix.size());
  const std::size_t mark = name.rfind(kPartMark);
  if (name.empty() || name.front() != '.' || mark == std::string_view::npos || mark < 2) return std::nullopt;
  const std::string_view digest = name.substr(mark + kPartMark.size());
  if (digest.size() != kDigestLength || !std::all_of(digest.begin(), digest.end(), IsHex))
    return std::nullopt;
  return name.substr(1, mark - 1);
}

bool IsUnfinishedName(std::string_view name) { return ParseTemporaryName(name) || ParseKeptPart(name); }

bool MayBelongTo(std::string_view named, std::string_view above, std::string_view prefix) {
  const std::string front = StrCat(above, named);
  const bool was_cut = named.size() >= kMinCut;
  const std::string_view compared = was_cut ? prefix.substr(0, front.size()) : prefix;
  return std::string_view(front).substr(0, compared.size()) == compared;
}

bool WriterIsGone(const TemporaryName& name) {
  if (name.boot != BootInNames()) return true;
  struct stat ignored;
  return stat(StrCat("/proc/", name.pid).c_str(), &ignored) != 0;
}

}  // namespace pipeline
