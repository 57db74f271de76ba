// The executor's access to the outside. cli/ passes it in, so that tests can pass in another one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/location/lease.h"
#include "dag/pipeline_file/source_file.h"
#include "dag/progress.h"
#include "dag/records/intermediate.h"
#include "dag/records/job_position.h"
#include "storage/store.h"

namespace pipeline {

struct Environment {
  RunLog* log = nullptr;
  const IntermediateFormat* intermediate = nullptr;
  Progress* progress = nullptr;
  RecordObserver* watch = nullptr;  // null: records between stages are not watched
  /// Opens a store rooted in the work directory: "artifacts/...", "quarantine/...".
  std::function<Result<std::unique_ptr<Store>>(const std::string& below_work)> work_store;
  /// Opens a store rooted at the location of an artifact.
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store;
  /// Opens a file. It may ask a server, and stops when `stop` is set.
  std::function<Result<std::shared_ptr<ByteFile>>(const std::string& path, std::stop_token stop)> open_file;
  /// Handles a file that could not be read (`why`, with DamagedBytes if it could not be decoded). OK:
  /// `before` was called, then the local copy was dropped, and the file is downloaded again at the first open
  /// after all present readers have closed it. Otherwise: the error to report. Empty: the error is always
  /// `why`.
  std::function<Status(const std::string& path, const Status& why, const std::function<void()>& before)>
      drop_damaged;
  /// Returns size, times and inode of a file as one opaque text. While it is the same, so are the bytes,
  /// unless somebody writes through mmap or puts the times back (compare_rest).
  std::function<Result<std::string>(const std::string& path)> file_identity;
  /// Returns whether a file that had the identity `before` still has the same bytes. It may read all of
  /// them.
  std::function<Result<bool>(const SourceFile& file, const std::string& before, std::stop_token stop)>
      is_unchanged;
  /// Compares the bytes that were read from `opened`, a file of open_file, with those that were hashed, as
  /// far as its readers have not. Not OK with SourceChanged: they differ. Empty: nothing is compared.
  std::function<Status(const ByteFile& opened, std::stop_token stop)> compare_rest;
  /// Returns the free bytes on the disk of the work directory, or of the scratch.
  std::function<Result<std::uint64_t>()> free_bytes;
  /// Returns the free bytes at the location of an artifact. Absent: unknown, as for a bucket.
  std::function<Result<std::optional<std::uint64_t>>(const std::string& uri)> location_free_bytes;
  /// Has the function called, from any thread, when this process loses the home that it holds; null: no more,
  /// and no call is running. Empty: the work directory is on this machine.
  std::function<void(std::function<void(Status)> lost)> watch_home;
  LeaseTerms lease;       // of runs in this work directory
  std::string scratch;    // path of a directory in which each Job has its own directory
  std::string kept;       // path of a directory for copies that Jobs keep from one run to the next
  std::string artifacts;  // path or URI of artifacts/ of the work directory
  /// artifacts/ is in a bucket, and `scratch` and `kept` are in the scratch of this machine.
  bool has_scratch = false;
  /// For tests: a stage that counts an undeclared reason fails its partition.
  bool declared_reasons_only = false;
};

/// Opens the store of the partition outputs in `directory`, which is below artifacts/. Those of small inputs
/// are in bundles.
Result<std::unique_ptr<Store>> OpenOutputs(const Environment& environment, const std::string& directory);
/// Opens the store of an artifact: at a URI, or below artifacts/ of the work directory after kWorkLocation.
Result<std::unique_ptr<Store>> OpenLocation(const Environment& environment, const std::string& location);
/// Returns the same location as a person writes it: a URI, or a path, perhaps relative.
std::string UriOfLocation(const Environment& environment, const std::string& location);

/// The part of a plan that this process does. If it is not all: other processes work at the same locations
/// meanwhile.
enum class ExecutionMode : std::uint8_t {
  kAll,
  kPlanning,  // all quick work; the rest is offered as units: `pipe plan`
  kOneUnit,   // one offered unit at a time: `pipe worker`
};

struct RunOptions {
  int threads = 1;     // -j
  int keep_going = 1;  // -k: stop after this many failures
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  std::size_t batch_bytes = 256 << 10;
  std::uint64_t group_bytes = 0;  // 0: GroupMemory decides
  ExecutionMode mode = ExecutionMode::kAll;
  std::string stage = {};   // the only one that is made, the last of its segment; empty: all are
  bool cut_inputs = false;  // with kOneUnit: a large input is scanned, and others make its partitions
  std::uint64_t least_cut_bytes = 32 << 20;      // of decoded input; below it a scan costs more than it gives
  std::chrono::milliseconds scan_period{1'000};  // in which a scan logs the cuts so far once at most
  bool keep_intermediates = false;               // also those that nothing unfinished needs; with kAll
  /// By stage, for Jobs that several machines may run together.
  std::map<std::string, JobPosition, std::less<>> positions = {};
};

/// Returns whether the run removes partition outputs that nothing unfinished needs. In other modes other
/// processes may read them meanwhile.
inline bool RemovesOutputs(const RunOptions& options) {
  return options.mode == ExecutionMode::kAll && !options.keep_intermediates;
}

/// Memory for one group of shards. It decides which shards are written together; no byte depends on it.
inline std::uint64_t GroupMemory(const RunOptions& options) {
  if (options.group_bytes > 0) return options.group_bytes;
  return std::max<std::uint64_t>(options.memory_bytes / 2 / static_cast<std::uint64_t>(options.threads),
                                 1 << 20);
}

/// Largest number of small inputs that are committed together. Each keeps files open until then, and a
/// process may open 1,024. More would save little: a sync costs as much as the work of three inputs.
inline std::size_t MostInputs(const RunOptions& options) {
  return static_cast<std::size_t>(std::clamp(512 / options.threads, 1, 64));
}

}  // namespace pipeline
