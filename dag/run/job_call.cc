#include "dag/run/job_call.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/child_ledger.h"
#include "base/str.h"
#include "dag/run/cpu_watch.h"

namespace pipeline {

JobCall::JobCall(const SegmentScope& scope, std::string unit, std::uint64_t input_bytes, std::stop_token stop)
    : scope_(scope),
      unit_(std::move(unit)),
      stop_(std::move(stop)),
      scratch_(StrCat(scope.environment->scratch, "/", scope.planned->keys.stage, "-",
                      scope.planned->recipe().ToHex().substr(0, 16))),
      running_(std::make_shared<RunningUnit>(unit_, std::vector<std::string>{scope.planned->keys.stage},
                                             input_bytes)) {}

JobCall::~JobCall() {
  std::error_code ignored;  // the next run removes the rest
  std::filesystem::remove_all(scratch_, ignored);
}

Status JobCall::CheckMemory(const SegmentScope& scope, const ArtifactTotals& input) {
  ASSIGN_OR_RETURN(const std::uint64_t memory, scope.assembly.job->Memory(input));
  if (memory <= scope.options->memory_bytes) return {};
  return Status(
      Code::kResourceExhausted,
      StrCat("stage '", scope.planned->keys.stage, "' would take ", HumanBytes(memory),
             " of memory for this input, and limits.memory is ", HumanBytes(scope.options->memory_bytes),
             "; raise it, or give the stage less to read"));
}

Status JobCall::Begin() {
  std::error_code error;
  std::filesystem::remove_all(scratch_, error);
  if (!error) std::filesystem::create_directories(scratch_, error);
  return error ? SystemError(StrCat("making the directory ", scratch_), error.value()) : Status();
}

JobRequest JobCall::Request() const {
  JobRequest request;
  request.out_uri = UriOfLocation(*scope_.environment, scope_.planned->location);
  request.recipe = scope_.planned->recipe();
  if (const auto found = scope_.options->positions.find(scope_.planned->keys.stage);
      found != scope_.options->positions.end())
    request.position = found->second;
  request.scratch = scratch_;
  request.kept = scope_.environment->kept;
  request.memory_bytes = scope_.options->memory_bytes;
  request.threads = scope_.options->threads;
  request.progress = [running = running_](std::uint64_t done, std::uint64_t of) {
    running->of.store(of, std::memory_order_relaxed);
    running->done.store(done, std::memory_order_relaxed);
  };
  request.say = [running = running_](std::string_view line) { running->Say(line); };
  request.stop = stop_;
  return request;
}

Result<JobOutput> JobCall::Run(const JobRequest& request) const {
  scope_.environment->progress->Started(running_);
  const ChildOwner owner(unit_);
  Result<JobOutput> output = [&] {
    const CpuWatch watch(running_->counters.cpu_ns);
    return scope_.assembly.job->Run(request);
  }();
  scope_.environment->progress->Finished(unit_, output.status());
  return output;
}

}  // namespace pipeline
