// The checkpoints that a program writes by its own rules, and their copies in checkpoints/ of the run
// directory: external.md, section 3.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// The directory of the program below the run directory.
inline constexpr const char* kProgramDirectory = "program";

/// The place of the checkpoints of a program.
struct ProgramPlace {
  std::string directory = {};  // of the program; empty: kProgramDirectory
  bool copies = true;          // false: they are only seen there; nothing is copied, and nothing removed
};

/// One thread at a time, except for Prune.
class ProgramCheckpoints {
 public:
  using Time = std::chrono::nanoseconds;  // on a monotonic clock

  /// All arguments outlive it, except `place`.
  ProgramCheckpoints(const CheckpointRule& rule, Time settle, const RunDirectory& directory,
                     const PluginServices& call, const ProgramPlace& place = {});

  /// Before an attempt: removes unfinished copies, and brings the newest copy back to its place if the
  /// program has no checkpoint as new. Returns the step of the newest copy; absent: there is none. kDataLoss:
  /// no copy can be read.
  Result<std::optional<std::int64_t>> BeginAttempt(Time now);
  /// The same for an attempt in which several hosts begin at the copy of `step`; -1: at none. Newer copies
  /// and newer checkpoints of the program are removed, and unless `keeps_older` older ones, too.
  /// kUnavailable: the copy cannot be read.
  Status BeginAttemptAt(std::int64_t step, bool keeps_older, Time now);
  /// The same without copies: nothing changes. Returns the step of the newest checkpoint that counts.
  Result<std::optional<std::int64_t>> BeginWatching(Time now);

  struct Found {
    std::int64_t step = 0;
    std::vector<std::string> files;  // below the directory of the rule, sorted
    std::string look;                // names, lengths and times of the files
  };
  /// The newest checkpoint that counts and has not been handed to TakeOver. `ended_well`: the program has
  /// ended with 0.
  std::optional<Found> Find(Time now, bool ended_well);
  /// Makes the copy, durably. After a failure nothing is left of it, and Find does not return it again before
  /// it changes. kNotFound: it was removed or changed meanwhile.
  Status TakeOver(const Found& found);

  /// Removes all copies but the newest `keep`. Safe while another thread uses this object.
  void Prune(std::int64_t keep) const;
  /// The steps of the finished copies, ascending.
  std::vector<std::int64_t> Copies() const;
  /// The newest checkpoint that counts: where its files are, and their names.
  struct Newest {
    std::int64_t step = 0;
    std::string from;
    std::vector<std::string> files;
  };
  Result<std::optional<Newest>> FindNewest() const;

 private:
  struct State {
    std::string look;
    Time since{0};      // when it was first seen so
    bool done = false;  // taken, or passed over
    bool torn = false;  // perhaps: an attempt left it unsettled
  };
  using Entries = std::map<std::int64_t, std::vector<std::string>>;  // names by step
  Entries List() const;
  /// Absent: a part of it vanished, or it has no files.
  std::optional<Found> Look(std::int64_t step, const std::vector<std::string>& names) const;
  bool HasCommitFile(const std::vector<std::string>& names) const;
  Status MakeCopy(const Found& found) const;
  void RemoveCopy(std::int64_t step) const;
  bool ProgramHas(std::int64_t step) const;
  /// The files of the program are those of the copy, under other names.
  bool ProgramHasLinks(std::int64_t step) const;
  Status PutBack(std::int64_t step) const;
  Status MakeDirectories() const;
  void RemoveUnfinished() const;
  /// The checkpoints that are there now; those up to `newest_` do not count any more.
  void Remember(Time now);

  const CheckpointRule& rule_;
  const Time settle_;
  const RunDirectory& directory_;
  const PluginServices& call_;
  const bool copies_;
  const std::string place_;  // where the program writes them
  std::map<std::int64_t, State> states_;
  std::int64_t newest_ = -1;   // step of the newest copy; without copies, of the newest that counted
  std::optional<Found> seen_;  // the newest that counted, without copies
};

}  // namespace pipeline
