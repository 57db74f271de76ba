#include "cli/submit/batch_job.h"

#include <algorithm>

#include "base/json.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

constexpr int kMostRetries = 10;  // what Batch allows
// Batch ends a task with these when its machine was taken back, was silent, started again, when the task did
// not answer, ran too long, or when its machine was made anew.
constexpr int kFirstLoss = 50001;
constexpr int kLastLoss = 50006;
constexpr const char* kDisk = "scratch";
constexpr const char* kMount = "/mnt/disks/scratch";

/// A value of a label has lower-case letters, digits, _ and -.
std::string Label(const std::string& name) {
  std::string label;
  for (const char c : name.substr(0, 63)) {
    if (c >= 'A' && c <= 'Z')
      label += static_cast<char>(c - 'A' + 'a');
    else
      label += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ? c : '-';
  }
  return label;
}

Json Task(const WorkerSet& set, const CloudOptions& options) {
  Json container;
  container["imageUri"] = options.image;
  container["entrypoint"] = set.argv.front();
  for (std::size_t at = 1; at < set.argv.size(); ++at) container["commands"].Append(set.argv[at]);
  Json task;
  if (options.scratch != 0) {
    container["volumes"].Append(StrCat(kMount, ":", kScratchInContainer, ":rw"));
    Json volume;
    volume["deviceName"] = kDisk;
    volume["mountPath"] = kMount;
    task["volumes"].Append(volume);
  }
  Json runnable;
  runnable["container"] = container;
  task["runnables"].Append(runnable);
  task["computeResource"]["cpuMilli"] = set.cores * 1000;
  task["computeResource"]["memoryMib"] = (set.memory + (1 << 20) - 1) >> 20;
  task["maxRetryCount"] = std::min(set.starts, kMostRetries);
  Json policy;
  policy["action"] = "RETRY_TASK";
  policy["actionCondition"]["exitCodes"].Append(int{kExitTryAgain});
  policy["actionCondition"]["exitCodes"].Append(128 + 9);  // killed: too little memory
  for (int code = kFirstLoss; code <= kLastLoss; ++code) policy["actionCondition"]["exitCodes"].Append(code);
  task["lifecyclePolicies"].Append(policy);
  return task;
}

Json Allocation(const CloudOptions& options) {
  Json policy;
  policy["provisioningModel"] = options.spot ? "SPOT" : "STANDARD";
  if (!options.machine_type.empty()) policy["machineType"] = options.machine_type;
  if (options.scratch != 0) {
    Json disk;
    disk["deviceName"] = kDisk;
    disk["newDisk"]["type"] = "pd-balanced";
    disk["newDisk"]["sizeGb"] = std::max<std::uint64_t>((options.scratch + (1 << 30) - 1) >> 30, 10);
    policy["disks"].Append(disk);
  }
  Json instance;
  instance["policy"] = policy;
  Json allocation;
  allocation["instances"].Append(instance);
  if (!options.service_account.empty()) allocation["serviceAccount"]["email"] = options.service_account;
  if (!options.region.empty())
    allocation["location"]["allowedLocations"].Append(StrCat("regions/", options.region));
  return allocation;
}

}  // namespace

std::string BatchJob(const WorkerSet& set, const CloudOptions& options) {
  Json group;
  group["taskCount"] = set.workers;
  group["parallelism"] = set.workers;
  group["taskCountPerNode"] = 1;
  group["taskSpec"] = Task(set, options);
  Json job;
  job["taskGroups"].Append(group);
  job["allocationPolicy"] = Allocation(options);
  job["labels"]["pipe"] = Label(set.name);
  job["logsPolicy"]["destination"] = "CLOUD_LOGGING";
  return job.DumpPretty();
}

}  // namespace pipeline
