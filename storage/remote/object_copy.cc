#include "storage/remote/object_copy.h"

#include <chrono>
#include <utility>

#include "base/str.h"
#include "storage/kept_part.h"
#include "storage/local_file.h"
#include "storage/remote/http/arriving_file.h"
#include "storage/remote/http/retry.h"
#include "storage/remote/http/versioned_file.h"

namespace pipeline {

namespace {

/// Bytes that were damaged on the way are requested again; the stores have retried every other failure.
constexpr RetryPolicy kDamagedOnTheWay{.first = std::chrono::milliseconds(200),
                                       .longest = std::chrono::milliseconds(1'000),
                                       .attempts = 3,
                                       .patience = std::chrono::milliseconds(0)};

Result<std::uint32_t> CrcOf(const ByteFile& file, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, stop));
  return ReadCrc32c(*reader);
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

/// Downloads the whole source into a part beside the future object. Null: no part is kept.
Result<std::unique_ptr<LocalFile>> FetchIntoPart(const CopySource& from, const CopyTarget& to,
                                                 const std::stop_token& stop) {
  if (to.part.empty() || from.version.empty() || from.file->size() < kKeepsPartFrom) return nullptr;
  Download download;
  download.name = from.name;
  download.path = to.part;
  download.identity = from.version;
  download.crc32c = from.crc32c;
  download.among_others = true;
  std::uint64_t kept = 0;  // the thread of the file writes it; it is read after that thread has ended
  download.progress = [&to, &kept, is_first = true](std::uint64_t here, std::uint64_t, bool) mutable {
    kept = here;
    if (std::exchange(is_first, false) && here > 0 && to.went_on) to.went_on(here);
  };
  Result<std::unique_ptr<ArrivingFile>> file = ArrivingFile::Begin(from.file, std::move(download));
  // Another process has the part, so this copy reads the source without one.
  if (file.status().Detail<PartIsTaken>() != nullptr) return nullptr;
  if (!file.ok()) return file.status();
  Status arrived = (*file)->WaitUntilWhole(stop);
  // The file is opened while the part is still ours, so that a process that takes the part before the link is
  // noticed.
  if (arrived.ok()) return LocalFile::Open(to.part, LocalFile::Keeper::kStore);
  (*file).reset();
  // The next copy cannot use bytes of another version, or damaged ones.
  if (kept == 0 || arrived.code() == Code::kDataLoss) {
    static_cast<void>(RemoveKeptPart(to.part));
  } else if (arrived.code() == Code::kUnavailable || arrived.code() == Code::kResourceExhausted) {
    std::string words =
        StrCat(arrived.message(), "; the downloaded bytes are kept, and the same command goes on with them");
    return std::move(arrived).Reword(std::move(words));
  }
  return arrived;
}

Status Write(const CopySource& from, const CopyTarget& to, const Condition& condition,
             const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> part, FetchIntoPart(from, to, stop));
  const VersionedFile versioned(from.file, from.name, from.version, from.crc32c);
  const ByteFile* file = from.version.empty() ? from.file.get() : &versioned;
  if (part != nullptr) file = part.get();
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, to.store.Create(to.name, condition));
  RETURN_IF_ERROR(writer->AppendFile(*file, stop));
  if (stop.stop_requested()) return Status(Code::kCancelled, StrCat(to.shown, ": writing was stopped"));
  ASSIGN_OR_RETURN(const ObjectInfo made, writer->Commit(stop));
  if (made.size == from.file->size() && (!made.crc32c || !from.crc32c || made.crc32c == from.crc32c))
    return {};
  return Status(Code::kDataLoss,
                StrCat(to.shown, ": has other bytes than ", from.name, "; replace it with --force"));
}

Result<CopyOutcome> Copy(const CopySource& from, const CopyTarget& to, const std::stop_token& stop) {
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
    const Condition condition =
        there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly();
    Status written = Write(from, to, condition, stop);
    if (written.ok()) return CopyOutcome::kCopied;
    if (written.code() == Code::kAlreadyExists && !std::exchange(looked, true)) {
      // Another writer was quicker, perhaps with the same bytes.
      ASSIGN_OR_RETURN(there, to.store.Stat(to.name));
      continue;
    }
    RETURN_IF_ERROR(retry.Again(std::move(written), std::nullopt, stop));
  }
}

}  // namespace

Result<CopyOutcome> CopyObject(const CopySource& from, const CopyTarget& to, std::stop_token stop) {
  Result<CopyOutcome> outcome = Copy(from, to, stop);
  // The part may also belong to a copy of another source: no copy will continue it here. If it cannot be
  // removed now, a Sweep removes it.
  if (outcome.ok() && !to.part.empty()) static_cast<void>(RemoveKeptPart(to.part));
  return outcome;
}

}  // namespace pipeline
