#include "dag/package/work_package.h"

#include <algorithm>
#include <utility>

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

std::string EncodeWorkPackage(const WorkPackage& work_package) {
  Json json;
  json["pipe_plan"] = kPackageFormVersion;
  json["pipeline"] = work_package.pipeline;
  json["file"] = work_package.file;
  json["directory"] = work_package.directory;
  // An earlier program, which would make a directory of that name, refuses a plan without `work`.
  json[IsRemote(work_package.work) ? "home" : "work"] = work_package.work;
  if (!work_package.holder.empty()) json["holder"] = work_package.holder;
  json["log"] = work_package.log;
  if (!work_package.run.empty()) json["run"] = work_package.run;
  if (!work_package.nonce.empty()) json["nonce"] = work_package.nonce;
  json["group_memory"] = work_package.group_memory;
  Json::Array set, files, units;
  for (const auto& [name, value] : work_package.set) set.emplace_back(Json::Array{name, value});
  for (const WorkPackage::File& file : work_package.files) {
    files.emplace_back(Json::Object{{"path", file.path},
                                    {"name", file.name},
                                    {"size", file.size},
                                    {"identity", file.identity},
                                    {"digest", file.digest.ToHex()}});
    for (const Digest& range : file.ranges) files.back()["ranges"].Append(range.ToHex());
  }
  for (const OfferedUnit& unit : work_package.units) {
    Json::Object members{{"unit", unit.unit}, {"recipe", unit.recipe.ToHex()}};
    if (unit.scanned) members.emplace("scanned", true);
    for (const auto& [name, need] : kUnitNeeds)
      if (unit.needs.*need) members.emplace(name, *(unit.needs.*need));
    units.emplace_back(std::move(members));
  }
  json["set"] = std::move(set);
  if (!work_package.subset.empty()) json["subset"] = work_package.subset;
  if (!work_package.until.empty()) json["until"] = work_package.until;
  if (work_package.rules) {
    json["rules"] = Json(Json::Object{});
    for (const auto& [stage, rules] : *work_package.rules) json["rules"][stage] = rules;
  }
  json["files"] = std::move(files);
  json["units"] = std::move(units);
  if (work_package.from_log) json["from_log"] = true;
  if (work_package.cuts) json["cuts"] = true;
  for (const auto& [stage, digest] : work_package.machine) json["machine"][stage] = digest.ToHex();
  for (const auto& [stage, time] : work_package.pace)
    json["pace_ms"][stage] = static_cast<std::int64_t>(time.count());
  return json.Dump();
}

Result<WorkPackage> ParseWorkPackage(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseVersioned(text, "pipe_plan"));
  Status status;
  JsonFields fields(json, "", status);
  WorkPackage work_package;
  work_package.pipeline = fields.Text("pipeline");
  work_package.file = fields.Text("file");
  work_package.directory = fields.Text("directory");
  work_package.work = fields.Text(json.Has("home") ? "home" : "work");
  if (json.Has("holder")) work_package.holder = fields.Text("holder");
  work_package.log = fields.Text("log");
  if (json.Has("run")) work_package.run = fields.Text("run");
  if (work_package.run.find_first_not_of("0123456789-") != std::string::npos)
    return Status(Code::kDataLoss, "run: not numbers");  // it is a part of paths
  work_package.nonce = json["nonce"].AsString();
  work_package.group_memory = fields.Number("group_memory");
  for (const Json& pair : fields.Array("set")) {
    const Json::Array& both = pair.AsArray();
    if (both.size() != 2 || !both[0].is_string() || !both[1].is_string())
      return Status(Code::kDataLoss, "set: not pairs of texts");
    work_package.set.emplace_back(both[0].AsString(), both[1].AsString());
  }
  if (json.Has("subset")) work_package.subset = fields.Text("subset");
  if (json.Has("until")) work_package.until = fields.Text("until");
  if (json.Has("rules")) {
    StageRules& rules = work_package.rules.emplace();
    JsonFields parts(json["rules"], "rules.", status);
    for (const auto& [stage, number] : fields.Object("rules").AsObject())
      rules.emplace(stage, parts.Text(stage));
  }
  for (const Json& element : fields.Array("files")) {
    const std::string where = StrCat("files[", work_package.files.size(), "].");
    JsonFields parts(element, where, status);
    WorkPackage::File file;
    file.path = parts.Text("path");
    file.name = parts.Text("name");
    file.size = parts.Number("size");
    file.identity = parts.Text("identity");
    file.digest = parts.Hex("digest");
    for (const Json& range : element["ranges"].AsArray())
      file.ranges.push_back(Digest::FromHex(range.AsString()).value_or(Digest()));
    work_package.files.push_back(std::move(file));
  }
  for (const Json& element : fields.Array("units")) {
    const std::string where = StrCat("units[", work_package.units.size(), "].");
    JsonFields parts(element, where, status);
    OfferedUnit unit;
    unit.unit = parts.Text("unit");
    unit.recipe = parts.Hex("recipe");
    unit.scanned = element["scanned"].AsBool();
    for (const auto& [name, need] : kUnitNeeds)
      if (element.Has(name)) unit.needs.*need = parts.Number(name);
    work_package.units.push_back(std::move(unit));
  }
  for (const auto& [stage, digest] : json["machine"].AsObject()) {
    JsonFields parts(json["machine"], "machine.", status);
    work_package.machine.emplace(stage, parts.Hex(stage));
  }
  if (!status.ok()) return status;
  work_package.from_log = json["from_log"].AsBool();
  work_package.cuts = json["cuts"].AsBool();
  for (const auto& [stage, time] : json["pace_ms"].AsObject())
    work_package.pace.emplace(stage, std::clamp<std::int64_t>(time.AsInt(), 0, kLongestUnit));
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
