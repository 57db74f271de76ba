#include "plugins/train/fetch_files.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/clock.h"
#include "base/in_parallel.h"
#include "base/mutex.h"
#include "base/str.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFetchedAtOnce = 8;
constexpr int kFetchTries = 3;  // of an object whose bytes came damaged on the way
constexpr std::uint64_t kSpare = 64 << 20;
constexpr std::chrono::milliseconds kBetweenWords{500};

class Fetching {
 public:
  Fetching(const FetchPlan& plan, const FetchMeans& means) : plan_(plan), means_(means) {
    for (const FileFacts& file : plan.files) all_ += file.bytes;
  }

  Status Run() {
    RETURN_IF_ERROR(InParallel(plan_.files.size(), kFetchedAtOnce, [&](std::size_t at) { return Look(at); }));
    const std::vector<std::size_t> absent = Missing();
    std::uint64_t missing = 0;
    for (const std::size_t at : absent) missing += plan_.files[at].bytes;
    if (absent.empty()) return {};
    ASSIGN_OR_RETURN(const std::uint64_t free, means_.free_bytes(plan_.directory));
    if (free < missing + kSpare)
      return Status(Code::kResourceExhausted,
                    StrCat(plan_.directory, ": ", plan_.what, " of ", plan_.from, " take ",
                           HumanBytes(missing), " more on this machine, and ", HumanBytes(free),
                           " are free there; free some, or name a directory on a larger disk"));
    return InParallel(absent.size(), kFetchedAtOnce, [&](std::size_t at) { return Bring(absent[at]); });
  }

 private:
  std::vector<std::size_t> Missing() const {
    const Lock lock(mutex_);
    return missing_;
  }

  /// Returns true if a file exists and is right; removes a wrong one.
  Status Look(std::size_t at) {
    const FileFacts& wanted = plan_.files[at];
    const fs::path path = fs::path(plan_.directory) / wanted.name;
    std::error_code error;
    if (fs::file_size(path, error) == wanted.bytes && !error) {
      const Result<FileFacts> found = MeasureFile(plan_.directory, wanted.name, means_.stopped);
      if (!found.ok() && found.status().code() == Code::kCancelled) return found.status();
      if (found.ok() && *found == wanted) {
        Tell(wanted.bytes);
        return {};
      }
    }
    fs::remove_all(path, error);
    const Lock lock(mutex_);
    missing_.push_back(at);
    return {};
  }

  Status Bring(std::size_t at) {
    const FileFacts& wanted = plan_.files[at];
    for (int tries = 1;; ++tries) {
      if (means_.stopped()) return Status(Code::kCancelled, "stopped");
      std::uint64_t moved = 0;
      const Status fetched = FetchObject(means_.storage, StrCat(plan_.from, "/", wanted.name), wanted,
                                         StrCat(plan_.directory, "/", wanted.name), [&](std::uint64_t bytes) {
                                           moved += bytes;
                                           if (means_.moved) means_.moved(bytes);
                                           Tell(bytes);
                                         });
      if (fetched.code() != Code::kUnavailable || tries == kFetchTries) return fetched;
      done_ -= moved;
    }
  }

  void Tell(std::uint64_t bytes) {
    const std::uint64_t done = done_ += bytes;
    const Lock lock(mutex_);
    const std::chrono::nanoseconds now = SystemClock().Monotonic();
    if (now - told_ < kBetweenWords && done < all_) return;
    told_ = now;
    means_.tell(done, all_);
  }

  const FetchPlan& plan_;
  const FetchMeans& means_;
  std::uint64_t all_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  mutable Mutex mutex_;
  std::vector<std::size_t> missing_ GUARDED_BY(mutex_);  // numbers of files
  std::chrono::nanoseconds told_ GUARDED_BY(mutex_){0};
};

}  // namespace

void TellBringing(const PluginServices& call, std::string_view what, std::uint64_t done, std::uint64_t of) {
  call.Progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of),
                StrCat("bringing ", what, " here: ", HumanBytes(done), " of ", HumanBytes(of)));
}

Status FetchFiles(const FetchPlan& plan, const FetchMeans& means) { return Fetching(plan, means).Run(); }

}  // namespace pipeline
