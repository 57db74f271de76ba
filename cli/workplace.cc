#include "cli/workplace.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "stages/partition_file.h"
#include "storage/disk.h"
#include "storage/local_file.h"
#include "storage/local_store.h"
#include "storage/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

Result<std::shared_ptr<ByteFile>> OpenFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  return std::shared_ptr<ByteFile>(std::move(file));
}

Result<std::string> IdentityText(const std::string& path) {
  ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(path));
  return StrCat(identity.size, " ", identity.mtime_ns, " ", identity.inode);
}

/// Tells about a long hashing once per so many bytes.
constexpr std::uint64_t kTellEvery = std::uint64_t{4} << 30;

}  // namespace

Result<std::unique_ptr<Workplace>> Workplace::Open(const std::string& path, Access access,
                                                   Progress& progress) {
  std::unique_ptr<Workplace> place(new Workplace(path));
  const WorkDir& directory = place->directory_;
  if (access == Access::kWrite) {
    RETURN_IF_ERROR(directory.Create());
    ASSIGN_OR_RETURN(place->lock_, WorkLock::Take(path, SystemClock()));
    ASSIGN_OR_RETURN(place->log_, RunLog::Open(directory.log()));
    RETURN_IF_ERROR(place->log_->CompactIfWorthwhile());
  } else {
    ASSIGN_OR_RETURN(place->log_, RunLog::OpenReadOnly(directory.log()));
  }
  place->root_ = std::make_unique<LocalStore>(path);
  place->Furnish(progress);
  return place;
}

Result<std::unique_ptr<Workplace>> Workplace::Join(const HandOut& hand_out, const std::string& scratch,
                                                   Progress& progress) {
  std::unique_ptr<Workplace> place(new Workplace(hand_out.work));
  ASSIGN_OR_RETURN(place->log_, RunLog::Open(StrCat(scratch, "/run.log")));
  for (const HandOut::File& file : hand_out.files) place->known_.emplace(file.path, file);
  place->root_ = std::make_unique<LocalStore>(scratch);
  place->Furnish(progress);
  place->environment_.scratch = scratch;
  return place;
}

void Workplace::Furnish(Progress& progress) {
  const std::string path = directory_.path();
  digests_ = std::make_unique<DigestCache>(*root_, "digests.txt");
  intermediate_ = std::make_unique<PartitionFileFormat>();

  environment_.log = log_.get();
  environment_.intermediate = intermediate_.get();
  environment_.progress = &progress;
  environment_.work_store = [path](const std::string& below) -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(std::make_unique<LocalStore>(StrCat(path, "/", below)));
  };
  environment_.open_store = [](const std::string& uri) { return OpenStore(uri); };
  environment_.open_file = OpenFile;
  environment_.file_identity = IdentityText;
  environment_.free_bytes = [path] { return FreeBytes(path); };
  environment_.place_free_bytes = [](const std::string& place) -> Result<std::optional<std::uint64_t>> {
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(place));
    if (uri.scheme != Uri::Scheme::kFile) return std::optional<std::uint64_t>();
    ASSIGN_OR_RETURN(const std::uint64_t free, FreeBytes(uri.path));
    return std::optional(free);
  };
  environment_.scratch = directory_.spool();
  environment_.artifacts = directory_.artifacts();
}

Result<SourceFile> Workplace::Hash(const LocalInput& input, std::stop_token stop) {
  // Taken before the bytes are: a change in between shows when the file is read.
  ASSIGN_OR_RETURN(std::string identity, IdentityText(input.path));
  if (const auto known = known_.find(input.path); known != known_.end() && known->second.identity == identity)
    return SourceFile{input, known->second.size, known->second.digest, std::move(identity)};
  std::uint64_t told = 0;
  const HashProgress progress = [&](std::uint64_t done, std::uint64_t of) {
    if (done < told + kTellEvery) return;
    told = done;
    environment_.progress->Note(
        StrCat("reading ", input.name, " once for its digest: ", HumanBytes(done), " of ", HumanBytes(of)));
  };
  ASSIGN_OR_RETURN(const Digest digest, digests_->DigestOfFile(input.path, progress, std::move(stop)));
  ASSIGN_OR_RETURN(const FileIdentity now, IdentifyFile(input.path));
  hashed_.push_back({input.path, input.name, now.size, identity, digest});
  return SourceFile{input, now.size, digest, std::move(identity)};
}

Result<Facts> Workplace::Gather(const Graph& graph, std::stop_token stop) {
  return GatherFacts(graph, environment_, [&](const LocalInput& input) { return Hash(input, stop); });
}

}  // namespace pipeline
