#include "dag/package/work_package.h"

#include <algorithm>

#include "base/json.h"
#include "base/str.h"
#include "dag/package/versioned_json.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxPlan = std::uint64_t{1} << 30;
/// Returns the file without secrets in its address.
std::string Shown(const std::string& file) { return IsRemote(file) ? ShownUrl(file) : file; }

}  // namespace

template <class Fields, Of<WorkPackage::File> T>
void ListFields(Fields& fields, T& file) {
  fields.Required("path", file.path).Required("name", file.name).Required("size", file.size);
  fields.Required("identity", file.identity).Required("digest", file.digest).Loose("ranges", file.ranges);
}

template <class Fields, Of<OfferedUnit> T>
void ListFields(Fields& fields, T& unit) {
  fields.Required("unit", unit.unit).Required("recipe", unit.recipe).Loose("scanned", unit.scanned);
  fields.Optional("memory", unit.needs.memory).Optional("cores", unit.needs.cores);
  fields.Optional("seconds", unit.needs.seconds).Optional("bytes_in", unit.needs.bytes_in);
  fields.Optional("bytes_out", unit.needs.bytes_out).Optional("scratch", unit.needs.scratch);
}

template <class Fields, Of<WorkPackage> T>
void ListFields(Fields& fields, T& plan) {
  fields.Required("pipeline", plan.pipeline).Required("file", plan.file);
  fields.Required("directory", plan.directory);
  // An earlier program, which would make a directory of that name, refuses a plan without `work`.
  fields.Required(fields.Has("home") || IsRemote(plan.work) ? "home" : "work", plan.work);
  fields.Optional("holder", plan.holder).Required("log", plan.log).Optional("run", plan.run);
  fields.Loose("nonce", plan.nonce).Required("group_memory", plan.group_memory).Required("set", plan.set);
  fields.Optional("subset", plan.subset).Optional("until", plan.until).Optional("rules", plan.rules);
  fields.Required("files", plan.files).Required("units", plan.units).Optional("machine", plan.machine);
  fields.Loose("from_log", plan.from_log).Loose("cuts", plan.cuts).Loose("pace_ms", plan.pace);
}

std::string EncodeWorkPackage(const WorkPackage& work_package) { return EncodeVersioned(work_package); }

Result<WorkPackage> ParseWorkPackage(std::string_view text) {
  ASSIGN_OR_RETURN(WorkPackage work_package, ParseVersioned<WorkPackage>(text));
  if (work_package.run.find_first_not_of("0123456789-") != std::string::npos)
    return Status(Code::kDataLoss, "run: not numbers");  // it is a part of paths
  for (auto& [stage, time] : work_package.pace)
    time = std::clamp(time, std::chrono::milliseconds(0), std::chrono::milliseconds(kLongestUnit));
  return work_package;
}

Result<WorkPackage> ReadWorkPackage(Store& location) {
  const Result<std::string> text = ReadObject(location, kWorkPackageName, kMaxPlan);
  if (!text.ok()) return text.status();
  Result<WorkPackage> work_package = ParseWorkPackage(*text);
  if (!work_package.ok()) return std::move(work_package).status().Annotate(kWorkPackageName);
  return work_package;
}

namespace {

/// Returns the reading rules of stages that do not have the first ones.
StageRules NewerRules(const WorkPackage& plan) {
  StageRules rules = plan.rules.value_or(StageRules());
  std::erase_if(rules, [](const auto& stage) { return stage.second == kFirstRules; });
  return rules;
}

}  // namespace

bool OfSameState(const WorkPackage& a, const WorkPackage& b) {
  return IsOfState(a, b.pipeline, b.set, b.subset, b.until) && a.directory == b.directory &&
         NewerRules(a) == NewerRules(b);
}

bool IsOfState(const WorkPackage& plan, std::string_view pipeline,
               const std::vector<std::pair<std::string, std::string>>& set, std::string_view subset,
               std::string_view until) {
  return plan.pipeline == pipeline && plan.set == set && plan.subset == subset && plan.until == until;
}

std::string ChangedFile(const WorkPackage& plan, const std::vector<WorkPackage::File>& hashed) {
  std::map<std::string_view, Digest> then;
  for (const WorkPackage::File& file : plan.files) then.emplace(file.path, file.digest);
  std::string changed;
  for (const WorkPackage::File& now : hashed) {
    const auto found = then.find(now.path);
    if (found == then.end() || found->second == now.digest) continue;
    if (changed.empty() || IsRemote(changed)) changed = now.path;
  }
  return changed;
}

std::string ChangedSince(const std::string& file) {
  return StrCat(Shown(file), ": was changed since the plan, or this machine has another one; plan again");
}

Status CheckMachine(const WorkPackage& plan, const MachineFacts& here,
                    const std::vector<WorkPackage::File>& hashed) {
  for (const auto& [stage, then] : plan.machine) {
    const auto now = here.find(stage);
    if (now != here.end() && now->second == then) continue;
    const std::string changed = ChangedFile(plan, hashed);
    std::string what = "this program, its libraries or its environment are not those of the plan";
    if (now == here.end())
      what = "a file of it is not on this machine";
    else if (!changed.empty())
      what = StrCat(Shown(changed), " has other bytes here than in the plan");
    return Status(
        Code::kInvalidArgument,
        StrCat("stage '", stage, "': ", what,
               "; use the same version everywhere, or end the workers and plan again with this one"));
  }
  return {};
}

}  // namespace pipeline
