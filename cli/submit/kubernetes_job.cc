#include "cli/submit/kubernetes_job.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

constexpr std::array kPermanent = {kExitFailed, kExitUsage,      kExitBadData, kExitNoInput,
                                   kExitBug,    kExitPermission, kExitConfig};
constexpr std::size_t kLongestName = 50;  // pods add their index and a random end: 63 in all
constexpr int kGraceSeconds = 60;         // from SIGTERM to SIGKILL; a spot machine of GKE gives 25

/// Letters in lower case, digits and '-', which is neither first nor last.
std::string ObjectName(const std::string& name) {
  std::string text = "pipe";
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool good = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (text == "pipe") text += '-';
    text += upper ? static_cast<char>(c - 'A' + 'a') : good ? c : '-';
  }
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

/// Lines at a depth of two spaces each.
class Yaml {
 public:
  void Line(int depth, std::string_view line) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ').append(line) += '\n';
  }
  template <class Value>
  void Add(int depth, std::string_view key, const Value& value) {
    Line(depth, StrCat(key, ": ", value));
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

void AddFailurePolicy(Yaml& yaml) {
  std::string codes;
  for (const int code : kPermanent) codes += StrCat(codes.empty() ? "" : ", ", code);
  yaml.Line(1, "podFailurePolicy:");
  yaml.Line(2, "rules:");
  yaml.Line(2, "# The machine was taken back: not a start of the worker's own.");
  yaml.Line(2, "- action: Ignore");
  yaml.Line(3, "onPodConditions:");
  yaml.Line(3, "- type: DisruptionTarget");
  yaml.Line(4, "status: \"True\"");
  yaml.Line(2, "# Another start would end in the same way.");
  yaml.Line(2, "- action: FailIndex");
  yaml.Line(3, "onExitCodes:");
  yaml.Line(4, "containerName: worker");
  yaml.Line(4, "operator: In");
  yaml.Line(4, StrCat("values: [", codes, "]"));
}

void AddContainer(Yaml& yaml, const WorkerSet& set, const CloudOptions& options) {
  yaml.Line(3, "containers:");
  yaml.Line(3, "- name: worker");
  yaml.Add(4, "image", Quoted(options.image));
  yaml.Line(4, "command:");
  for (const std::string& word : set.argv) yaml.Line(4, StrCat("- ", QuotedWord(word)));
  yaml.Line(4, "resources:");
  for (const char* kind : {"requests", "limits"}) {
    yaml.Line(5, StrCat(kind, ":"));
    if (std::string_view(kind) == "requests") yaml.Add(6, "cpu", Quoted(StrCat(set.cores)));
    if (set.memory != 0) yaml.Add(6, "memory", Quoted(StrCat(set.memory)));
    if (options.scratch != 0) yaml.Add(6, "ephemeral-storage", Quoted(StrCat(options.scratch)));
  }
  if (options.scratch == 0) return;
  yaml.Line(4, "volumeMounts:");
  yaml.Line(4, "- name: scratch");
  yaml.Add(5, "mountPath", kScratchInContainer);
}

}  // namespace

std::string KubernetesJob(const WorkerSet& set, const CloudOptions& options) {
  const std::string name = ObjectName(set.name);
  Yaml yaml;
  yaml.Line(0, "apiVersion: batch/v1");
  yaml.Line(0, "kind: Job");
  yaml.Line(0, "metadata:");
  yaml.Add(1, "name", Quoted(name));
  yaml.Line(0, "spec:");
  yaml.Line(1, "completionMode: Indexed");
  yaml.Add(1, "completions", set.workers);
  yaml.Add(1, "parallelism", set.workers);
  yaml.Add(1, "backoffLimitPerIndex", set.starts);
  yaml.Line(1, "podReplacementPolicy: Failed");
  AddFailurePolicy(yaml);
  yaml.Line(1, "template:");
  yaml.Line(2, "metadata:");
  yaml.Line(3, "labels:");
  yaml.Add(4, "pipe", Quoted(name));
  yaml.Line(2, "spec:");
  yaml.Line(3, "restartPolicy: Never");
  yaml.Add(3, "terminationGracePeriodSeconds", kGraceSeconds);
  if (!options.service_account.empty()) yaml.Add(3, "serviceAccountName", Quoted(options.service_account));
  if (options.spot) {
    yaml.Line(3, "nodeSelector:");
    yaml.Line(4, "cloud.google.com/gke-spot: \"true\"");
  }
  AddContainer(yaml, set, options);
  if (options.scratch != 0) {
    yaml.Line(3, "volumes:");
    yaml.Line(3, "- name: scratch");
    yaml.Line(4, "emptyDir:");
    yaml.Add(5, "sizeLimit", Quoted(StrCat(options.scratch)));
  }
  return yaml.Take();
}

}  // namespace pipeline
