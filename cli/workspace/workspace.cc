#include "cli/workspace/workspace.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "base/str.h"
#include "cli/workspace/books.h"
#include "dag/home/scratch.h"
#include "dag/location/held_store.h"
#include "dag/location/holder.h"
#include "dag/location/lease.h"
#include "dag/plan/lineages.h"
#include "stages/lines/partition_file.h"
#include "storage/cache/cached_store.h"
#include "storage/checked_file.h"
#include "storage/directory.h"
#include "storage/local_file.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::size_t kRunsBefore = 20;

/// kInvalidArgument: the directory at that path is not the plan's, but perhaps another machine's, where
/// nobody would find a worker's output. It checks several times, because another machine may see a new file
/// late.
Status CheckShared(const WorkPackage& work_package) {
  constexpr int kLooks = 7;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(work_package.work));
  Store& work = *store;
  Result<std::string> found = ReadObject(work, kHolderName, kMaxHolderBytes);
  for (int look = 1; look < kLooks && !(found.ok() && *found == work_package.holder); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    found = ReadObject(work, kHolderName, kMaxHolderBytes);
  }
  if (found.ok() && *found == work_package.holder) return {};
  if (IsRemote(work_package.work)) {
    if (!found.ok() && found.status().code() != Code::kNotFound) return found.status();
    return Status(Code::kInvalidArgument,
                  StrCat(work_package.work, ": is not the home of the plan: its object `", kHolderName, "` ",
                         found.ok() ? "names another one" : "is not there", "; plan again"));
  }
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
  terms.host = BootId();
  terms.who = NameOfProcess();
  ASSIGN_OR_RETURN(terms.every, LeasePeriodFromEnvironment());
  return terms;
}

}  // namespace

Workspace::Workspace(WorkPlace place) : place_(std::move(place)), directory_(place_.directory()) {}

Workspace::~Workspace() = default;

Result<std::unique_ptr<Workspace>> Workspace::Open(const WorkPlace& place, Access access, Progress& progress,
                                                   SourceFiles::Network network, std::stop_token stop) {
  std::unique_ptr<Workspace> workspace(new Workspace(place));
  const WorkDir& directory = workspace->directory_;
  const bool writes = access == Access::kWrite;
  RETURN_IF_ERROR(place.is_remote() ? CheckScratch(directory, place.home) : CheckNoScratch(directory));
  if (writes) {
    RETURN_IF_ERROR(directory.Create());
    ASSIGN_OR_RETURN(workspace->lock_, WorkLock::Take(directory.path(), SystemClock()));
  }
  // Looking, and reading a home from a machine that has no scratch, leaves no directory behind.
  const bool leaves_nothing = access == Access::kLook || (place.is_remote() && !writes);
  std::error_code ignored;
  if (leaves_nothing && !std::filesystem::exists(directory.path(), ignored))
    workspace->root_ = std::make_unique<MemoryStore>();
  else
    workspace->root_ = std::make_unique<LocalStore>(directory.path());
  workspace->OpenStores(directory);
  if (!place.is_remote()) RETURN_IF_ERROR(workspace->OpenLog(access));
  if (writes) {
    ASSIGN_OR_RETURN(workspace->environment_.lease, LeaseTermsOf(*workspace->root_));
  }
  if (place.is_remote()) RETURN_IF_ERROR(workspace->OpenHome(access, progress, std::move(stop)));
  workspace->Init(directory, network, progress);
  return workspace;
}

Status Workspace::OpenLog(Access access) {
  if (access != Access::kWrite) {
    ASSIGN_OR_RETURN(log_, RunLog::OpenReadOnly(directory_.log()));
    return {};
  }
  ASSIGN_OR_RETURN(log_, RunLog::Open(directory_.log()));
  return log_->CompactIfWorthwhile();
}

Status Workspace::OpenHome(Access access, Progress& progress, std::stop_token stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<Store> root, stores_->Open(place_.home));
  if (access != Access::kWrite) {
    ASSIGN_OR_RETURN(HomeLogText found, ReadHomeLog(*root, std::move(stop)));
    ASSIGN_OR_RETURN(log_, RunLog::OpenText(place_.home, std::move(found.text)));
    return {};
  }
  RETURN_IF_ERROR(ClaimScratch(directory_, place_.home));
  ASSIGN_OR_RETURN(cache_, ObjectCache::Open(directory_.cache(), place_.most_cached));
  const auto note = [&progress](std::string_view line) { progress.Note(line); };
  ASSIGN_OR_RETURN(home_, Home::Hold(place_.home, std::move(root), environment_.lease, note, stop));
  environment_.lease.holder = home_->holder();
  environment_.watch_home = [this](std::function<void(Status)> lost) { home_->Watch(std::move(lost)); };
  ASSIGN_OR_RETURN(log_, home_->OpenLog(directory_.log(), stop));
  // The report of this run tells of those before it. It is only for people.
  ASSIGN_OR_RETURN(root, stores_->Open(place_.home));
  if (const Status fetched = FetchRuns(*root, directory_, kRunsBefore, stop); !fetched.ok())
    LogWarning(StrCat("the records of earlier runs are missing here: ", fetched.message()));
  return {};
}

Result<std::unique_ptr<Workspace>> Workspace::Join(const WorkPackage& work_package,
                                                   const std::string& scratch, Progress& progress) {
  if (!work_package.holder.empty()) RETURN_IF_ERROR(CheckShared(work_package));
  std::unique_ptr<Workspace> workspace(new Workspace({work_package.work, scratch}));
  ASSIGN_OR_RETURN(workspace->log_, RunLog::Open(StrCat(scratch, "/run.log")));
  for (const WorkPackage::File& file : work_package.files) workspace->known_.emplace(file.path, file);
  workspace->root_ = std::make_unique<LocalStore>(scratch);
  workspace->OpenStores(WorkDir(scratch));
  if (workspace->place_.is_remote()) {
    // The workers of this machine share what one of them has brought here.
    const std::string shared =
        StrCat(std::filesystem::path(scratch).parent_path().string(), "/pipe-cache-", getuid());
    RETURN_IF_ERROR(MakeOwnDirectory(shared));
    ASSIGN_OR_RETURN(workspace->cache_, ObjectCache::Open(shared, std::nullopt));
  }
  workspace->Init(WorkDir(scratch), SourceFiles::Network::kMayAsk, progress);
  workspace->environment_.scratch = scratch;
  return workspace;
}

Result<std::unique_ptr<Workspace>> Workspace::Follow(const WorkPlace& place, int host, Progress& progress) {
  std::unique_ptr<Workspace> workspace(new Workspace(place));
  RETURN_IF_ERROR(place.is_remote() ? CheckScratch(workspace->directory_, place.home)
                                    : CheckNoScratch(workspace->directory_));
  const WorkDir own(workspace->directory_.host(host));
  RETURN_IF_ERROR(own.Create());
  workspace->root_ = std::make_unique<LocalStore>(own.path());
  workspace->OpenStores(own);
  RETURN_IF_ERROR(place.is_remote() ? workspace->OpenHome(Access::kRead, progress, {})
                                    : workspace->OpenLog(Access::kRead));
  workspace->Init(own, SourceFiles::Network::kMayAsk, progress);
  workspace->environment_.scratch = own.spool();
  workspace->environment_.kept = own.kept();
  return workspace;
}

void Workspace::OpenStores(const WorkDir& own) {
  stores_ = std::make_unique<StoreOpener>(StoreOptions{.spool = StrCat(own.spool(), "/uploads")});
}

Result<std::unique_ptr<Store>> Workspace::OpenWorkStore(const std::string& below) {
  const std::string first = below.substr(0, below.find('/'));
  // These belong to one machine.
  const bool is_here = first == "sources" || first == "kept" || first == "hosts" || first == "cache";
  if (!place_.is_remote() || is_here)
    return std::unique_ptr<Store>(std::make_unique<LocalStore>(StrCat(directory_.path(), "/", below)));
  const std::string location = below.empty() ? place_.home : StrCat(place_.home, "/", below);
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, stores_->Open(location));
  if (cache_ != nullptr && first == "artifacts")
    store = NewCachedStore(std::shared_ptr<Store>(std::move(store)), location, *cache_);
  if (home_ != nullptr)
    store =
        HoldStore(std::move(store), [this](std::stop_token stop) { return home_->Check(std::move(stop)); });
  return store;
}

void Workspace::Init(const WorkDir& own, SourceFiles::Network network, Progress& progress) {
  const std::string path = directory_.path();
  digests_ = std::make_unique<DigestCache>(*root_, "digests.txt");
  sources_ = std::make_unique<SourceFiles>(own.sources(), *digests_, network, progress);
  intermediate_ = std::make_unique<PartitionFileFormat>();

  environment_.log = log_.get();
  environment_.intermediate = intermediate_.get();
  environment_.progress = &progress;
  environment_.work_store = [this](const std::string& below) { return OpenWorkStore(below); };
  environment_.open_store = [this](const std::string& uri) { return OpenStoreAt(uri); };
  environment_.open_file = [this](const std::string& file, std::stop_token stop) {
    return sources_->Open(file, std::move(stop));
  };
  environment_.drop_damaged = [this](const std::string& file, const Status& why,
                                     const std::function<void()>& before) {
    return sources_->DropDamaged(file, why, before);
  };
  environment_.file_identity = [this](const std::string& file) { return sources_->Identity(file); };
  environment_.is_unchanged = [this](const SourceFile& file, const std::string& before,
                                     std::stop_token stop) {
    return sources_->IsUnchanged(file, before, std::move(stop));
  };
  environment_.compare_rest = [](const ByteFile& opened, std::stop_token stop) {
    const auto* const checked = dynamic_cast<const CheckedFile*>(&opened);
    return checked == nullptr ? Status() : checked->CompareRest(std::move(stop));
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
  environment_.artifacts = place_.is_remote() ? StrCat(place_.home, "/artifacts") : directory_.artifacts();
  environment_.has_scratch = place_.is_remote();
  environment_.declared_reasons_only = std::getenv("PIPE_TEST_REASONS") != nullptr;
}

Result<std::unique_ptr<Store>> Workspace::OpenStoreAt(const std::string& uri) {
  if (sources_->network() == SourceFiles::Network::kMayAsk || !IsRemote(uri)) return stores_->Open(uri);
  const Lock lock(mutex_);
  if (not_asked_.insert(uri).second)
    LogWarning(StrCat(uri, ": is not listed in a dry run and planned as empty; --ask lists it"));
  return std::unique_ptr<Store>(std::make_unique<MemoryStore>());
}

Result<SourceFile> Workspace::Hash(const LocalInput& input, std::stop_token stop) {
  if (const auto known = known_.find(input.path); known != known_.end()) {
    const Result<std::string> identity = sources_->Identity(input.path);
    if (identity.ok() && *identity == known->second.identity) {
      RangeDigests ranges = known->second.ranges;
      if (ranges.empty() && input.checksum.empty()) ranges = {known->second.digest};
      if (!IsRemote(input.path)) digests_->SetRanges(input.path, std::move(ranges));
      return SourceFile{input, known->second.size, known->second.digest, *identity};
    }
  }
  ASSIGN_OR_RETURN(SourceFile file, sources_->Look(input, std::move(stop)));
  hashed_.push_back({input.path, input.name, file.size, file.identity, file.digest});
  if (!IsRemote(input.path) && (file.size > kCheckedRange || !input.checksum.empty()))
    hashed_.back().ranges = digests_->RangesOf(input.path);
  return file;
}

Result<Snapshot> Workspace::TakeSnapshot(const Graph& graph, PipelineSpec& spec, std::stop_token stop) {
  RETURN_IF_ERROR(CheckApart(place_, graph));
  ASSIGN_OR_RETURN(Snapshot snapshot,
                   CollectSnapshot(
                       graph, environment_, [&](const LocalInput& input) { return Hash(input, stop); },
                       [&](const LocalInput& pattern) { return sources_->Find(pattern, stop); }));
  snapshot.offline = sources_->network() == SourceFiles::Network::kOffline;
  ChooseRules(graph, snapshot, spec);
  return snapshot;
}

Result<std::chrono::milliseconds> PeriodFromEnvironment(const char* name, std::chrono::milliseconds usual) {
  const char* seconds = std::getenv(name);
  if (seconds == nullptr || *seconds == '\0') return usual;
  char* end = nullptr;
  const double value = std::strtod(seconds, &end);
  if (*end != '\0' || !(value >= 0.1 && value <= 60))
    return Status(Code::kInvalidArgument, StrCat(name, ": not a number of seconds from 0.1 to 60"));
  return std::chrono::milliseconds(static_cast<std::int64_t>(value * 1000));
}

Result<std::chrono::milliseconds> LeasePeriodFromEnvironment() {
  return PeriodFromEnvironment("PIPE_LEASE", LeaseTerms().every);
}

}  // namespace pipeline
