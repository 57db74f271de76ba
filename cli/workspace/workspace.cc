#include "cli/workspace/workspace.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/random_name.h"
#include "base/str.h"
#include "cli/workspace/lease_period.h"
#include "dag/location/host.h"
#include "stages/lines/partition_file.h"
#include "storage/disk.h"
#include "storage/local_file.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::string_view kHolderName = "holder";
constexpr std::uint64_t kMaxHolderBytes = 100;

/// Returns the name of this work directory among those of all machines; its first run makes it.
Result<std::string> HolderOf(Store& work) {
  Result<std::string> known = ReadObject(work, kHolderName, kMaxHolderBytes);
  if (known.ok() && !known->empty()) return known;
  std::string made = RandomName(32);
  RETURN_IF_ERROR(WriteObject(work, kHolderName, made, Condition::ReplaceAny()).status());
  return made;
}

/// kInvalidArgument: the directory at that path is not the plan's, but perhaps another machine's, where
/// nobody would find a worker's output. It checks several times, because another machine may see a new file
/// late.
Status CheckShared(const WorkPackage& work_package) {
  constexpr int kLooks = 7;
  LocalStore work(work_package.work);
  Result<std::string> found = ReadObject(work, kHolderName, kMaxHolderBytes);
  for (int look = 1; look < kLooks && !(found.ok() && *found == work_package.holder); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    found = ReadObject(work, kHolderName, kMaxHolderBytes);
  }
  if (found.ok() && *found == work_package.holder) return {};
  return Status(
      Code::kInvalidArgument,
      StrCat(
          work_package.work, ": is not the work directory of the plan: its file `", kHolderName, "` ",
          found.ok() ? "names another one" : "is not there",
          "; a worker needs the directory itself, under the same path, as a network file system gives it"));
}

/// Returns the terms of the leases with which this process publishes.
Result<LeaseTerms> LeaseTermsOf(Store& work) {
  LeaseTerms terms;
  ASSIGN_OR_RETURN(terms.holder, HolderOf(work));
  char host[256] = "?";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '?';
  terms.host = HostId();
  terms.who = StrCat(host, ", process ", getpid());
  ASSIGN_OR_RETURN(terms.every, LeasePeriodFromEnvironment());
  return terms;
}

}  // namespace

Result<std::unique_ptr<Workspace>> Workspace::Open(const std::string& path, Access access, Progress& progress,
                                                   SourceFiles::Network network) {
  std::unique_ptr<Workspace> workspace(new Workspace(path));
  const WorkDir& directory = workspace->directory_;
  if (access == Access::kWrite) {
    RETURN_IF_ERROR(directory.Create());
    ASSIGN_OR_RETURN(workspace->lock_, WorkLock::Take(path, SystemClock()));
    ASSIGN_OR_RETURN(workspace->log_, RunLog::Open(directory.log()));
    RETURN_IF_ERROR(workspace->log_->CompactIfWorthwhile());
  } else {
    ASSIGN_OR_RETURN(workspace->log_, RunLog::OpenReadOnly(directory.log()));
  }
  std::error_code ignored;
  if (access == Access::kLook && !std::filesystem::exists(path, ignored))
    workspace->root_ = std::make_unique<MemoryStore>();
  else
    workspace->root_ = std::make_unique<LocalStore>(path);
  if (access == Access::kWrite) {
    ASSIGN_OR_RETURN(workspace->environment_.lease, LeaseTermsOf(*workspace->root_));
  }
  workspace->Init(directory, network, progress);
  return workspace;
}

Result<std::unique_ptr<Workspace>> Workspace::Join(const WorkPackage& work_package,
                                                   const std::string& scratch, Progress& progress) {
  if (!work_package.holder.empty()) RETURN_IF_ERROR(CheckShared(work_package));
  std::unique_ptr<Workspace> workspace(new Workspace(work_package.work));
  ASSIGN_OR_RETURN(workspace->log_, RunLog::Open(StrCat(scratch, "/run.log")));
  for (const WorkPackage::File& file : work_package.files) workspace->known_.emplace(file.path, file);
  workspace->root_ = std::make_unique<LocalStore>(scratch);
  workspace->Init(WorkDir(scratch), SourceFiles::Network::kMayAsk, progress);
  workspace->environment_.scratch = scratch;
  return workspace;
}

Result<std::unique_ptr<Workspace>> Workspace::Follow(const std::string& path, int host, Progress& progress) {
  std::unique_ptr<Workspace> workspace(new Workspace(path));
  const WorkDir own(workspace->directory_.host(host));
  RETURN_IF_ERROR(own.Create());
  ASSIGN_OR_RETURN(workspace->log_, RunLog::OpenReadOnly(workspace->directory_.log()));
  workspace->root_ = std::make_unique<LocalStore>(own.path());
  workspace->Init(own, SourceFiles::Network::kMayAsk, progress);
  workspace->environment_.scratch = own.spool();
  workspace->environment_.kept = own.kept();
  return workspace;
}

void Workspace::Init(const WorkDir& own, SourceFiles::Network network, Progress& progress) {
  const std::string path = directory_.path();
  digests_ = std::make_unique<DigestCache>(*root_, "digests.txt");
  sources_ = std::make_unique<SourceFiles>(own.sources(), *digests_, network, progress);
  intermediate_ = std::make_unique<PartitionFileFormat>();

  environment_.log = log_.get();
  environment_.intermediate = intermediate_.get();
  environment_.progress = &progress;
  environment_.work_store = [path](const std::string& below) -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(std::make_unique<LocalStore>(StrCat(path, "/", below)));
  };
  stores_ = std::make_unique<StoreOpener>(StoreOptions{.spool = StrCat(own.spool(), "/uploads")});
  environment_.open_store = [this](const std::string& uri) { return OpenStoreAt(uri); };
  environment_.open_file = [this](const std::string& file, std::stop_token stop) {
    return sources_->Open(file, std::move(stop));
  };
  environment_.drop_damaged = [this](const std::string& file, const Status& why) {
    return sources_->DropDamaged(file, why);
  };
  environment_.file_identity = [this](const std::string& file) { return sources_->Identity(file); };
  environment_.is_unchanged = [this](const SourceFile& file, const std::string& before,
                                     std::stop_token stop) {
    return sources_->IsUnchanged(file, before, std::move(stop));
  };
  environment_.free_bytes = [path] { return FreeBytes(path); };
  environment_.location_free_bytes = [](const std::string& location) -> Result<std::optional<std::uint64_t>> {
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
    if (!uri.is_local()) return std::optional<std::uint64_t>();
    ASSIGN_OR_RETURN(const std::uint64_t free, FreeBytes(uri.path));
    return std::optional(free);
  };
  environment_.scratch = directory_.spool();
  environment_.kept = directory_.kept();
  environment_.artifacts = directory_.artifacts();
  environment_.declared_reasons_only = std::getenv("PIPE_TEST_REASONS") != nullptr;
}

Result<std::unique_ptr<Store>> Workspace::OpenStoreAt(const std::string& uri) {
  if (sources_->network() == SourceFiles::Network::kMayAsk || !IsRemote(uri)) return stores_->Open(uri);
  const Lock lock(mutex_);
  if (not_asked_.insert(uri).second)
    LogWarning(StrCat(uri, ": was not asked for its objects (--ask does); it is planned as if it had none"));
  return std::unique_ptr<Store>(std::make_unique<MemoryStore>());
}

Result<SourceFile> Workspace::Hash(const LocalInput& input, std::stop_token stop) {
  if (const auto known = known_.find(input.path); known != known_.end()) {
    const Result<std::string> identity = sources_->Identity(input.path);
    if (identity.ok() && *identity == known->second.identity)
      return SourceFile{input, known->second.size, known->second.digest, *identity};
  }
  ASSIGN_OR_RETURN(SourceFile file, sources_->Look(input, std::move(stop)));
  hashed_.push_back({input.path, input.name, file.size, file.identity, file.digest});
  return file;
}

Result<Snapshot> Workspace::TakeSnapshot(const Graph& graph, std::stop_token stop) {
  ASSIGN_OR_RETURN(Snapshot snapshot,
                   CollectSnapshot(
                       graph, environment_, [&](const LocalInput& input) { return Hash(input, stop); },
                       [&](const LocalInput& pattern) { return sources_->Find(pattern, stop); }));
  snapshot.offline = sources_->network() == SourceFiles::Network::kOffline;
  return snapshot;
}

}  // namespace pipeline
