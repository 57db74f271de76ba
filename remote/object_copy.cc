#include "remote/object_copy.h"

#include <chrono>
#include <utility>

#include "base/crc32c.h"
#include "base/str.h"
#include "remote/retry.h"

namespace pipeline {

namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

/// Bytes that were damaged on the way are worth another try; the stores tried everything else themselves.
constexpr RetryPolicy kDamagedOnTheWay{.first = std::chrono::milliseconds(200),
                                       .longest = std::chrono::milliseconds(1'000),
                                       .attempts = 3,
                                       .patience = std::chrono::milliseconds(0)};

Result<std::uint32_t> CrcOf(const ByteFile& file, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, stop));
  std::string piece(kPieceBytes, '\0');
  std::uint32_t crc = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return crc;
    crc = Crc32c(std::string_view(piece).substr(0, got), crc);
  }
}

Result<bool> AreEqual(const CopySource& from, const CopyTarget& to, const ObjectInfo& there,
                      const std::stop_token& stop) {
  if (from.file->size() != there.size) return false;
  std::optional<std::uint32_t> theirs = there.crc32c, ours = from.crc32c;
  if (!theirs) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, to.store.Open(to.name));
    ASSIGN_OR_RETURN(theirs, CrcOf(*file, stop));
  }
  if (!ours) {
    ASSIGN_OR_RETURN(ours, CrcOf(*from.file, stop));
  }
  return ours == theirs;
}

Status Write(const CopySource& from, const CopyTarget& to, const Condition& condition,
             const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, to.store.Create(to.name, condition));
  RETURN_IF_ERROR(writer->AppendFile(*from.file, stop));
  if (stop.stop_requested()) return Status(Code::kCancelled, StrCat(to.shown, ": writing was stopped"));
  ASSIGN_OR_RETURN(const ObjectInfo made, writer->Commit(stop));
  if (made.size == from.file->size() && (!made.crc32c || !from.crc32c || made.crc32c == from.crc32c))
    return {};
  return Status(Code::kDataLoss,
                StrCat(to.shown, ": is not what was read from ", from.name, "; replace it with --force"));
}

}  // namespace

Result<CopyOutcome> CopyObject(const CopySource& from, const CopyTarget& to, std::stop_token stop) {
  std::optional<ObjectInfo> there = to.there;
  Retry retry(RetryMeans{.policy = kDamagedOnTheWay});
  for (bool looked = false;;) {
    if (there) {
      ASSIGN_OR_RETURN(const bool equal, AreEqual(from, to, *there, stop));
      if (equal) return CopyOutcome::kWasThere;
      if (!to.replaces)
        return Status(Code::kAlreadyExists, StrCat(to.shown, ": is there already, with other bytes than ",
                                                   from.name, "; --force replaces it"));
    }
    const Condition condition = there ? Condition::Replace(there->version) : Condition::CreateOnly();
    Status written = Write(from, to, condition, stop);
    if (written.ok()) return CopyOutcome::kCopied;
    if (written.code() == Code::kAlreadyExists && !std::exchange(looked, true)) {
      // Somebody was quicker, perhaps with the same bytes.
      ASSIGN_OR_RETURN(there, to.store.Stat(to.name));
      continue;
    }
    RETURN_IF_ERROR(retry.Again(std::move(written), std::nullopt, stop));
  }
}

}  // namespace pipeline
