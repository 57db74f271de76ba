// Work packages: a plan for workers, and the work results that they leave. Format:
// dag/package/work_package.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/pipeline_file/reading_rules.h"
#include "dag/plan/machine_facts.h"
#include "dag/run/executor.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kWorkPackageName = "plan.json";

struct WorkPackage {
  static constexpr std::string_view kForm = "pipe_plan";

  /// A local file as `pipe plan` saw it.
  struct File {
    std::string path;
    std::string name;
    std::uint64_t size = 0;
    std::string identity;  // Environment::file_identity
    Digest digest;
    std::vector<Digest>
        ranges{};  // of its bytes (storage/checked_file.h); empty: `digest` is that of one range
    bool operator==(const File&) const = default;
  };

  std::string pipeline;  // the text of the file
  std::string file;      // its name
  std::vector<std::pair<std::string, std::string>> set;
  std::string subset{};  // the value of --subset; empty: not given
  std::string until{};   // the value of --until; empty: not given
  std::string directory;
  std::string work;      // path of the work directory, or URI of the home
  std::string holder{};  // text of the file `holder` in `work`; empty in a plan of an earlier version
  std::string log;       // name of an object
  std::string run{};     // names the run among those of this place: WorkHistory; empty: an earlier version
  std::string nonce{};   // different for each plan; empty in a plan of an earlier version
  std::uint64_t group_memory = 0;
  std::vector<File> files;
  std::vector<OfferedUnit> units;
  bool from_log = false;   // --from-log was given
  bool cuts = false;       // the program that plans knows cuts, so a worker may scan an input
  MachineFacts machine{};  // of the machine that planned; empty: an earlier version planned
  /// By stage: the time in which 95 % of its units were done. Absent: too few are known.
  std::map<std::string, std::chrono::milliseconds, std::less<>> pace{};
  /// The reading rules of the stages that have some. Absent: an earlier version planned, by the first rules.
  std::optional<StageRules> rules{};
  bool operator==(const WorkPackage&) const = default;
};

std::string EncodeWorkPackage(const WorkPackage& work_package);
/// kFailedPrecondition: a newer program wrote it. kDataLoss: a member is missing or wrong; the message
/// names it.
Result<WorkPackage> ParseWorkPackage(std::string_view text);

Result<WorkPackage> ReadWorkPackage(Store& location);

/// Returns whether both plans are of the same state of a file, so that a worker that loaded the file for one
/// can run the units of the other.
bool OfSameState(const WorkPackage& a, const WorkPackage& b);
/// Returns whether the plan is of this text of a file, with these options. Directories aside.
bool IsOfState(const WorkPackage& plan, std::string_view pipeline,
               const std::vector<std::pair<std::string, std::string>>& set, std::string_view subset,
               std::string_view until);

/// Returns the path of a file in `hashed` that has other bytes in the plan, a local one if there is one.
/// Empty: there is none.
std::string ChangedFile(const WorkPackage& plan, const std::vector<WorkPackage::File>& hashed);

/// The words about a file with other bytes than in the plan.
std::string ChangedSince(const std::string& file);

/// OK: a machine with the facts `here`, where `hashed` was hashed, makes the bytes of the plan.
/// kInvalidArgument: the message names the difference.
Status CheckMachine(const WorkPackage& plan, const MachineFacts& here,
                    const std::vector<WorkPackage::File>& hashed);

}  // namespace pipeline
