#include "dag/package/work_package.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/in_parallel.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "dag/books/run_log_line.h"
#include "dag/books/unit_id.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kMaxPlan = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxRecord = 64 << 20;
constexpr std::string_view kDone = "done/";
constexpr std::string_view kVoid = "void/";
constexpr std::string_view kSuffix = ".json";
constexpr std::int64_t kLongestUnit = std::int64_t{1000} * 60 * 60 * 24 * 365;  // in milliseconds
constexpr std::size_t kReaders = 16;  // requests at a time: each waits for a server

Status CheckVersion(std::uint64_t version) {
  if (version == kVersion) return {};
  return Status(version > kVersion ? Code::kFailedPrecondition : Code::kDataLoss,
                StrCat("it has version ", version, ", and this program reads ", kVersion));
}

std::string ObjectOf(const UnitLine& line) {
  return StrCat(line.state == UnitState::kVoid ? kVoid : kDone, line.unit, kSuffix);
}

/// Returns whether both lines describe the same work.
bool SameWork(const UnitLine& a, const UnitLine& b) {
  return a.state == b.state && a.recipe == b.recipe && a.digest == b.digest && a.objects == b.objects &&
         a.partitions == b.partitions;
}

}  // namespace

std::string EncodeWorkPackage(const WorkPackage& work_package) {
  Json json;
  json["pipe_plan"] = kVersion;
  json["pipeline"] = work_package.pipeline;
  json["file"] = work_package.file;
  json["directory"] = work_package.directory;
  json["work"] = work_package.work;
  if (!work_package.holder.empty()) json["holder"] = work_package.holder;
  json["log"] = work_package.log;
  json["group_memory"] = work_package.group_memory;
  Json::Array set, files, units;
  for (const auto& [name, value] : work_package.set) set.emplace_back(Json::Array{name, value});
  for (const WorkPackage::File& file : work_package.files)
    files.emplace_back(Json::Object{{"path", file.path},
                                    {"name", file.name},
                                    {"size", file.size},
                                    {"identity", file.identity},
                                    {"digest", file.digest.ToHex()}});
  for (const OfferedUnit& unit : work_package.units)
    units.emplace_back(Json::Object{{"unit", unit.unit}, {"recipe", unit.recipe.ToHex()}});
  json["set"] = std::move(set);
  if (!work_package.subset.empty()) json["subset"] = work_package.subset;
  json["files"] = std::move(files);
  json["units"] = std::move(units);
  if (work_package.from_log) json["from_log"] = true;
  for (const auto& [stage, time] : work_package.pace)
    json["pace_ms"][stage] = static_cast<std::int64_t>(time.count());
  return json.Dump();
}

Result<WorkPackage> ParseWorkPackage(std::string_view text) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, std::string(json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  const std::uint64_t version = fields.Number("pipe_plan");
  if (!status.ok()) return status;
  RETURN_IF_ERROR(CheckVersion(version));
  WorkPackage work_package;
  work_package.pipeline = fields.Text("pipeline");
  work_package.file = fields.Text("file");
  work_package.directory = fields.Text("directory");
  work_package.work = fields.Text("work");
  if (json->Has("holder")) work_package.holder = fields.Text("holder");
  work_package.log = fields.Text("log");
  work_package.group_memory = fields.Number("group_memory");
  for (const Json& pair : fields.Array("set")) {
    const Json::Array& both = pair.AsArray();
    if (both.size() != 2 || !both[0].is_string() || !both[1].is_string())
      return Status(Code::kDataLoss, "set: not pairs of texts");
    work_package.set.emplace_back(both[0].AsString(), both[1].AsString());
  }
  if (json->Has("subset")) work_package.subset = fields.Text("subset");
  for (const Json& element : fields.Array("files")) {
    const std::string where = StrCat("files[", work_package.files.size(), "].");
    JsonFields parts(element, where, status);
    WorkPackage::File file;
    file.path = parts.Text("path");
    file.name = parts.Text("name");
    file.size = parts.Number("size");
    file.identity = parts.Text("identity");
    file.digest = parts.Hex("digest");
    work_package.files.push_back(std::move(file));
  }
  for (const Json& element : fields.Array("units")) {
    const std::string where = StrCat("units[", work_package.units.size(), "].");
    JsonFields parts(element, where, status);
    OfferedUnit unit;
    unit.unit = parts.Text("unit");
    unit.recipe = parts.Hex("recipe");
    work_package.units.push_back(std::move(unit));
  }
  if (!status.ok()) return status;
  work_package.from_log = std::as_const(*json)["from_log"].AsBool();
  for (const auto& [stage, time] : std::as_const(*json)["pace_ms"].AsObject())
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

std::string EncodeUnitRecord(const UnitRecord& record) {
  std::string line = EncodeLine(record.line);
  line.pop_back();  // LF
  Json json;
  json["pipe_done"] = kVersion;
  json["line"] = std::move(line);
  json["lineage"] = record.lineage;
  if (!record.who.empty()) json["who"] = record.who;
  if (record.took.count() > 0) json["took_ms"] = static_cast<std::int64_t>(record.took.count());
  return json.Dump();
}

Result<UnitRecord> ParseUnitRecord(std::string_view text, std::string_view unit) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, std::string(json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  const std::uint64_t version = fields.Number("pipe_done");
  const std::string line = fields.Text("line");
  UnitRecord record;
  record.lineage = fields.Text("lineage");
  if (!status.ok()) return status;
  RETURN_IF_ERROR(CheckVersion(version));
  const std::optional<LineHead> head = ScanLine(line);
  std::optional<UnitLine> decoded = head ? DecodeUnit(*head) : std::nullopt;
  if (!decoded) return Status(Code::kDataLoss, "line: damaged");
  if (decoded->unit != unit) return Status(Code::kDataLoss, StrCat("line: it is about ", decoded->unit));
  record.line = std::move(*decoded);
  record.who = std::as_const(*json)["who"].AsString();
  record.took = std::chrono::milliseconds(std::max<std::int64_t>(std::as_const(*json)["took_ms"].AsInt(), 0));
  return record;
}

Status StoreWorkResult(Store& location, const UnitRecord& record) {
  const std::string object = ObjectOf(record.line);
  const std::string text = EncodeUnitRecord(record);
  const Status written = WriteObject(location, object, text, Condition::CreateOnly()).status();
  if (written.ok() || written.code() != Code::kAlreadyExists) return written;
  const Result<std::string> there = ReadObject(location, object, kMaxRecord);
  if (!there.ok()) return there.status();
  const Result<UnitRecord> other = ParseUnitRecord(*there, record.line.unit);
  if (other.ok() && SameWork(other->line, record.line)) return {};
  if (other.ok() && other->line.recipe == record.line.recipe && record.line.state != UnitState::kVoid)
    return Status(Code::kInternal, StrCat(object, ": another worker made other bytes by the same recipe, or ",
                                          "this one did; a stage is not deterministic [this is a bug]"));
  return WriteObject(location, object, text, Condition::ReplaceAny()).status();
}

Result<std::vector<UnitRecord>> ReadWorkResults(Store& location, std::string_view prefix,
                                                std::vector<std::string>& unreadable) {
  std::vector<UnitRecord> records;
  for (const std::string_view kind : {kVoid, kDone}) {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, location.List(StrCat(kind, prefix)));
    std::vector<std::optional<UnitRecord>> read(objects.size());
    std::vector<char> damaged(objects.size(), 0);
    RETURN_IF_ERROR(InParallel(objects.size(), kReaders, [&](std::size_t at) -> Status {
      std::string_view unit = objects[at].name;
      unit.remove_prefix(kind.size());
      if (!unit.ends_with(kSuffix)) return {};
      unit.remove_suffix(kSuffix.size());
      const Result<std::string> text = ReadObject(location, objects[at].name, kMaxRecord);
      if (!text.ok() && text.status().code() == Code::kNotFound) return {};  // removed meanwhile
      if (!text.ok()) return text.status();
      Result<UnitRecord> record = ParseUnitRecord(*text, unit);
      if (record.ok() && ObjectOf(record->line) == objects[at].name)
        read[at] = std::move(*record);
      else
        damaged[at] = 1;
      return {};
    }));
    for (std::size_t at = 0; at < objects.size(); ++at) {
      if (read[at]) records.push_back(std::move(*read[at]));
      if (damaged[at] != 0) unreadable.push_back(objects[at].name);
    }
  }
  return records;
}

Result<TakenResults> AddResults(std::vector<UnitRecord> records, std::vector<std::string> unreadable,
                                RunLog& log) {
  TakenResults taken;
  taken.objects = unreadable;
  taken.unreadable = std::move(unreadable);
  std::set<std::string> damaged;
  std::vector<UnitLine> lines;
  for (UnitRecord& record : records) {
    taken.objects.push_back(ObjectOf(record.line));
    if (record.line.state == UnitState::kVoid) damaged.insert(record.line.unit);
    // Work that was done before the damage was found is void, too.
    if (record.line.state != UnitState::kVoid && damaged.contains(record.line.unit)) continue;
    ASSIGN_OR_RETURN(record.line.segment, log.AppendSegment(record.lineage));
    if (const std::optional<UnitId> unit = ParseUnitId(record.line.unit); unit && record.took.count() > 0)
      taken.times[unit->stage].push_back(record.took);
    lines.push_back(std::move(record.line));
  }
  RETURN_IF_ERROR(log.Append(lines));
  return taken;
}

Status RemoveResults(Store& location, const TakenResults& taken) {
  return InParallel(taken.objects.size(), kReaders,
                    [&](std::size_t at) { return location.Remove(taken.objects[at]); });
}

void UpdatePace(const TakenResults& taken, WorkPackage& work_package) {
  constexpr std::size_t kEnough = 5;
  for (const auto& [stage, some] : taken.times) {
    if (some.size() < kEnough) continue;
    std::vector<std::chrono::milliseconds> times = some;
    const std::size_t at = times.size() * 95 / 100;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
    std::chrono::milliseconds& pace = work_package.pace[stage];
    pace = std::max(pace, times[at]);
  }
}

}  // namespace pipeline
