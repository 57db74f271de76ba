// What the executor needs from the world, handed in by cli/ so that tests can hand in another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dag/place/lease.h"
#include "dag/plan.h"
#include "dag/progress.h"
#include "dag/run_log.h"
#include "records/intermediate.h"
#include "storage/store.h"

namespace pipeline {

struct Environment {
  RunLog* log = nullptr;
  const IntermediateFormat* intermediate = nullptr;
  Progress* progress = nullptr;
  RecordWatch* watch = nullptr;  // null: nobody looks at records between stages
  /// A store rooted in the work directory: "artifacts/...", "quarantine/...".
  std::function<Result<std::unique_ptr<Store>>(const std::string& below_work)> work_store;
  /// A store rooted at the place of an artifact.
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store;
  /// May ask a server, and then stops when it is told to.
  std::function<Result<std::shared_ptr<ByteFile>>(const std::string& path, std::stop_token stop)> open_file;
  /// A file could not be read (`why`, with DamagedBytes where it could not be decoded). OK: what is kept of
  /// it was dropped, and it comes anew when it is opened again, after all who have it open now; else what to
  /// tell of it. Empty: as one that always tells `why`.
  std::function<Status(const std::string& path, const Status& why)> drop_damaged;
  /// Size, times and inode of a file in one opaque text; while it is the same, so are the bytes.
  std::function<Result<std::string>(const std::string& path)> file_identity;
  /// Whether a file that had this identity has the same bytes still; may read them all to know.
  std::function<Result<bool>(const SourceFile& file, const std::string& before, std::stop_token stop)>
      is_unchanged;
  /// Free bytes where the work directory lies.
  std::function<Result<std::uint64_t>()> free_bytes;
  /// Free bytes at the place of an artifact; absent where nobody counts them, as in a bucket.
  std::function<Result<std::optional<std::uint64_t>>(const std::string& uri)> place_free_bytes;
  LeaseTerms lease;       // of runs in this work directory
  std::string scratch;    // path of a directory in which Jobs have a directory of their own each
  std::string kept;       // path of a directory in which Jobs keep copies from one run to the next
  std::string artifacts;  // path of artifacts/ of the work directory
  /// For tests: a stage that counts what its type does not declare fails its partition.
  bool declared_reasons_only = false;
};

/// The store of an artifact: at a URI, or below artifacts/ of the work directory after kWorkPlace.
Result<std::unique_ptr<Store>> OpenPlace(const Environment& environment, const std::string& place);
/// The same place as a person writes it: a URI, or a path, perhaps relative.
std::string UriOfPlace(const Environment& environment, const std::string& place);

/// What of a plan this process does. Where it is not all, others work on the same places meanwhile.
struct Share {
  enum class Of : std::uint8_t {
    kAll,
    kPlanning,  // what is quickly done; the rest is offered: `pipe plan`
    kOneUnit,   // a unit that was offered: `pipe worker`
  };
  Of of = Of::kAll;
  std::string unit;  // with kOneUnit
};

struct RunOptions {
  int threads = 1;     // -j
  int keep_going = 1;  // -k: stop after so many failures
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  std::size_t batch_bytes = 256 << 10;
  std::uint64_t group_bytes = 0;  // 0: GroupMemory decides
  Share share{};
};

/// Memory for one group of shards: which shards are written together depends on it, no byte does.
inline std::uint64_t GroupMemory(const RunOptions& options) {
  if (options.group_bytes > 0) return options.group_bytes;
  return std::max<std::uint64_t>(options.memory_bytes / 2 / static_cast<std::uint64_t>(options.threads),
                                 1 << 20);
}

}  // namespace pipeline
