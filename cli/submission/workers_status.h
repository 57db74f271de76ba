// The workers of a run, for `pipe status`.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "storage/store.h"

namespace pipeline {

/// One worker with a unit.
struct WorkerStatus {
  std::string unit;  // empty: it plans
  std::string who;
  int attempt = 1;
  bool second = false;                // it runs the unit of a straggler again
  std::chrono::milliseconds since{};  // by this machine's clock; 0: unknown
  std::chrono::milliseconds pace{};   // in which 95 % of the units of its stage were done; 0: unknown
  bool is_straggler() const {
    return pace.count() > 0 && since > std::max(3 * pace, std::chrono::milliseconds(30'000));
  }
};

struct WorkersStatus {
  std::string package;  // location of the work package
  PackageView view;
  std::vector<WorkerStatus> workers;
  std::optional<Submission> submission;
};

/// Returns the state of the work package that the work directory `work` names. Absent: it names none.
Result<std::optional<WorkersStatus>> LookAtWorkers(Store& work, std::int64_t now,
                                                   const std::stop_token& stop);

/// Lines without the last LF; empty: no worker has anything to do.
std::string ToText(const WorkersStatus& status);
Json ToJson(const WorkersStatus& status);

}  // namespace pipeline
