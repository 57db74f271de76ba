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
  place->digests_ = std::make_unique<DigestCache>(*place->root_, "digests.txt");
  place->intermediate_ = std::make_unique<PartitionFileFormat>();

  Environment& environment = place->environment_;
  environment.log = place->log_.get();
  environment.intermediate = place->intermediate_.get();
  environment.progress = &progress;
  environment.work_store = [path](const std::string& below) -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(std::make_unique<LocalStore>(StrCat(path, "/", below)));
  };
  environment.open_store = [](const std::string& uri) { return OpenStore(uri); };
  environment.open_file = OpenFile;
  environment.file_identity = IdentityText;
  environment.free_bytes = [path] { return FreeBytes(path); };
  environment.place_free_bytes = [](const std::string& where) -> Result<std::optional<std::uint64_t>> {
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(where));
    if (uri.scheme != Uri::Scheme::kFile) return std::optional<std::uint64_t>();
    ASSIGN_OR_RETURN(const std::uint64_t free, FreeBytes(uri.path));
    return std::optional(free);
  };
  environment.scratch = directory.spool();
  environment.artifacts = directory.artifacts();
  return place;
}

Result<Facts> Workplace::Gather(const Graph& graph, std::stop_token stop) {
  std::uint64_t told = 0;
  const auto hash = [&](const LocalInput& input) -> Result<SourceFile> {
    // Taken before the bytes are: a change in between shows when the file is read.
    ASSIGN_OR_RETURN(std::string identity, IdentityText(input.path));
    const HashProgress progress = [&](std::uint64_t done, std::uint64_t of) {
      if (done < told + kTellEvery) return;
      told = done;
      environment_.progress->Note(
          StrCat("reading ", input.name, " once for its digest: ", HumanBytes(done), " of ", HumanBytes(of)));
    };
    told = 0;
    ASSIGN_OR_RETURN(const Digest digest, digests_->DigestOfFile(input.path, progress, stop));
    ASSIGN_OR_RETURN(const FileIdentity now, IdentifyFile(input.path));
    return SourceFile{input, now.size, digest, std::move(identity)};
  };
  return GatherFacts(graph, environment_, hash);
}

}  // namespace pipeline
