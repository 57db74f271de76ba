// The engine that runs the workers of a work package: `submit.json` beside the plan. Format:
// dag/package/work_queue.md
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kSubmissionName = "submit.json";

struct Submission {
  std::string engine;     // as --on
  std::string job;        // the engine's name for the workers
  std::string directory;  // of the engine's files
  std::string host;       // where the job was started
  int workers = 0;
  std::uint64_t memory = 0;  // bytes that the largest worker has for a unit; 0: unknown
  std::string version{};     // of the object that it was read from or written to; empty: none
  bool operator==(const Submission&) const = default;
};

std::string EncodeSubmission(const Submission& submission);
/// kFailedPrecondition: a newer program wrote it. kDataLoss: a member is missing or wrong.
Result<Submission> ParseSubmission(std::string_view text);
/// Absent: no engine runs workers of this package.
Result<std::optional<Submission>> ReadSubmission(Store& package, const std::stop_token& stop);
/// Creates the object, or replaces the one that `submission` was read from. kFailedPrecondition: another call
/// wrote or removed it meanwhile.
Status WriteSubmission(Store& package, Submission& submission, const std::stop_token& stop);
/// Removes the object unless another call has written it meanwhile.
Status RemoveSubmission(Store& package, const Submission& submission);

/// OK: this machine may create, replace and remove objects of the package. kPermissionDenied: it names the
/// missing right.
Status CheckRights(Store& package, std::string_view location, const std::stop_token& stop);

}  // namespace pipeline
