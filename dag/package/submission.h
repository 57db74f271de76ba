// The engine that runs the workers of a work package: `submit.json` beside the plan. Format:
// dag/package/work_queue.md
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/package/versioned_json.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kSubmissionName = "submit.json";

struct Submission {
  static constexpr std::string_view kForm = "pipe_submit";
  std::string engine;     // as --on
  std::string job;        // the engine's name for the workers
  std::string directory;  // of the engine's files
  std::string host;       // where the job was started
  int workers = 0;
  std::uint64_t memory = 0;  // bytes that the largest worker has for a unit; 0: unknown
  std::string version{};     // of the object that it was read from or written to; empty: none
  bool operator==(const Submission&) const = default;
};

template <class Fields, Of<Submission> T>
void ListFields(Fields& fields, T& submission) {
  fields.Required("engine", submission.engine).Required("job", submission.job);
  fields.Required("directory", submission.directory).Required("host", submission.host);
  fields.Required("workers", submission.workers).Optional("memory", submission.memory);
}

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
