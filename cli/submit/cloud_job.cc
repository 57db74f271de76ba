#include "cli/submit/cloud_job.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";  // and digits
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr int kMostOfBatch = 5'000;         // "Parallel tasks per job", https://cloud.google.com/batch/quotas
constexpr int kMostOfKubernetes = 100'000;  // of an indexed Job; pkg/apis/batch/validation of Kubernetes

constexpr int kMostRetries = 10;  // what Batch allows
// Batch ends a task with these when its machine was taken back, was silent, started again, when the task did
// not answer, ran too long, or when its machine was made anew.
constexpr int kFirstLoss = 50001;
constexpr int kLastLoss = 50006;
constexpr const char* kDisk = "scratch";
constexpr const char* kMount = "/mnt/disks/scratch";
constexpr std::array kPermanent = {kExitFailed, kExitUsage,      kExitBadData, kExitNoInput,
                                   kExitBug,    kExitPermission, kExitConfig};
constexpr std::size_t kLongestName = 50;  // pods add their index and a random end: 63 in all
constexpr int kGraceSeconds = 60;         // from SIGTERM to SIGKILL; a spot machine of GKE gives 25

/// Empty text has no character that is not allowed.
bool HasOnly(std::string_view text, std::string_view marks, bool upper = false) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLower.find(c) != kLower.npos || marks.find(c) != marks.npos ||
           (upper && kUpper.find(c) != kUpper.npos);
  });
}

Status Refuse(std::string_view word, const std::string& value, std::string_view is_none) {
  return Status(Code::kInvalidArgument, StrCat(word, " ", value, ": is ", is_none));
}

/// Returns `name` in lower case, with a hyphen for all but letters, digits and `marks`.
std::string PlainName(std::string_view name, std::string_view marks) {
  std::string plain;
  for (const char c : name) {
    const std::size_t upper = kUpper.find(c);
    const char lower = upper == kUpper.npos ? c : kLower[upper];
    plain += HasOnly({&lower, 1}, marks) ? lower : '-';
  }
  return plain;
}

Json Task(const WorkerSet& set, const CloudOptions& options) {
  Json container = Json::Object{{"imageUri", options.image}, {"entrypoint", set.argv.front()}};
  for (std::size_t at = 1; at < set.argv.size(); ++at) container["commands"].Append(set.argv[at]);
  Json task;
  if (options.scratch != 0) {
    container["volumes"].Append(StrCat(kMount, ":", kScratchInContainer, ":rw"));
    task["volumes"].Append(Json::Object{{"deviceName", kDisk}, {"mountPath", kMount}});
  }
  task["runnables"].Append(Json::Object{{"container", container}});
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
  Json allocation;
  allocation["instances"].Append(Json::Object{{"policy", policy}});
  if (!options.service_account.empty()) allocation["serviceAccount"]["email"] = options.service_account;
  if (!options.region.empty())
    allocation["location"]["allowedLocations"].Append(StrCat("regions/", options.region));
  return allocation;
}

/// Letters in lower case, digits and '-', which is neither first nor last.
std::string ObjectName(const std::string& name) {
  std::string text = name.empty() ? "pipe" : StrCat("pipe-", PlainName(name, ""));
  text.resize(std::min(text.size(), kLongestName));
  while (text.back() == '-') text.pop_back();
  return text;
}

/// JSON strings are also strings of YAML.
std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

/// A word of a command, in which Kubernetes replaces $(NAME).
std::string QuotedWord(std::string_view word) {
  std::string text;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word.substr(at).starts_with("$(")) text += '$';
    text += word[at];
  }
  return Quoted(text);
}

/// The requests and the limits of a worker; one of them has its cores.
std::string Resources(std::string_view kind, const WorkerSet& set, const CloudOptions& options) {
  std::string yaml = StrCat("          ", kind, ":\n");
  if (kind == "requests") yaml += StrCat("            cpu: ", Quoted(StrCat(set.cores)), "\n");
  if (set.memory != 0) yaml += StrCat("            memory: ", Quoted(StrCat(set.memory)), "\n");
  if (options.scratch != 0)
    yaml += StrCat("            ephemeral-storage: ", Quoted(StrCat(options.scratch)), "\n");
  return yaml;
}

}  // namespace

Status CheckCloudOptions(std::string_view form, const CloudOptions& options, int workers) {
  const bool batch = form == "batch";
  if (!HasOnly(options.image, "._-/:@", true))
    return Refuse("--image", options.image,
                  "no name of a container image, such as HOST/PROJECT/images/pipe:0.2");
  if (!HasOnly(options.region, "-"))
    return Refuse("--region", options.region, "no region, such as us-central1");
  if (!HasOnly(options.machine_type, "-"))
    return Refuse("--machine-type", options.machine_type, "no type of machine, such as n2-standard-8");
  const std::string& account = options.service_account;
  if (batch && !account.empty() &&
      (!HasOnly(account, "._-@", true) || std::count(account.begin(), account.end(), '@') != 1))
    return Refuse("--service-account", account,
                  "no address of an account, such as NAME@PROJECT.iam.gserviceaccount.com");
  if (!batch && !HasOnly(account, ".-"))
    return Refuse("--service-account", account,
                  "no name of a Kubernetes account: lower-case letters, digits, '-' and '.'");
  const int most = batch ? kMostOfBatch : kMostOfKubernetes;
  if (workers > most)
    return Refuse("--workers", StrCat(workers),
                  StrCat("more than a job of ", batch ? "Batch" : "Kubernetes", " can have: ", most));
  return {};
}

std::string BatchJob(const WorkerSet& set, const CloudOptions& options) {
  Json group;
  group["taskCount"] = set.workers;
  group["parallelism"] = set.workers;
  group["taskCountPerNode"] = 1;
  group["taskSpec"] = Task(set, options);
  Json job;
  job["taskGroups"].Append(group);
  job["allocationPolicy"] = Allocation(options);
  job["labels"]["pipe"] = PlainName(std::string_view(set.name).substr(0, 63), "_-");  // as a value of a label
  job["logsPolicy"]["destination"] = "CLOUD_LOGGING";
  return job.DumpPretty();
}

std::string KubernetesJob(const WorkerSet& set, const CloudOptions& options) {
  const std::string name = Quoted(ObjectName(set.name));
  std::string codes;
  for (const int code : kPermanent) codes += StrCat(codes.empty() ? "" : ", ", code);
  std::string yaml = StrCat(R"(apiVersion: batch/v1
kind: Job
metadata:
  name: )",
                            name, R"(
spec:
  completionMode: Indexed
  completions: )",
                            set.workers, R"(
  parallelism: )",
                            set.workers, R"(
  backoffLimitPerIndex: )",
                            set.starts, R"(
  podReplacementPolicy: Failed
  podFailurePolicy:
    rules:
    # The machine was taken back: not a start of the worker's own.
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
        status: "True"
    # Another start would end in the same way.
    - action: FailIndex
      onExitCodes:
        containerName: worker
        operator: In
        values: [)",
                            codes, R"(]
  template:
    metadata:
      labels:
        pipe: )",
                            name, R"(
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: )",
                            kGraceSeconds, "\n");
  if (!options.service_account.empty())
    yaml += StrCat("      serviceAccountName: ", Quoted(options.service_account), "\n");
  if (options.spot)
    yaml += R"(      nodeSelector:
        cloud.google.com/gke-spot: "true"
)";
  yaml += StrCat(R"(      containers:
      - name: worker
        image: )",
                 Quoted(options.image), R"(
        command:
)");
  for (const std::string& word : set.argv) yaml += StrCat("        - ", QuotedWord(word), "\n");
  yaml +=
      StrCat("        resources:\n", Resources("requests", set, options), Resources("limits", set, options));
  if (options.scratch != 0)
    yaml += StrCat(R"(        volumeMounts:
        - name: scratch
          mountPath: )",
                   kScratchInContainer, R"(
      volumes:
      - name: scratch
        emptyDir:
          sizeLimit: )",
                   Quoted(StrCat(options.scratch)), "\n");
  return yaml;
}

}  // namespace pipeline
