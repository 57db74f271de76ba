#include "dag/work_package.h"

#include <optional>
#include <set>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "dag/books/run_log_line.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kMaxPlan = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxRecord = 64 << 20;
constexpr std::string_view kDone = "done/";
constexpr std::string_view kVoid = "void/";
constexpr std::string_view kSuffix = ".json";

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
    for (const ObjectInfo& object : objects) {
      std::string_view unit = object.name;
      unit.remove_prefix(kind.size());
      if (!unit.ends_with(kSuffix)) continue;
      unit.remove_suffix(kSuffix.size());
      const Result<std::string> text = ReadObject(location, object.name, kMaxRecord);
      if (!text.ok() && text.status().code() == Code::kNotFound) continue;  // taken back meanwhile
      if (!text.ok()) return text.status();
      Result<UnitRecord> record = ParseUnitRecord(*text, unit);
      if (record.ok() && ObjectOf(record->line) == object.name)
        records.push_back(std::move(*record));
      else
        unreadable.push_back(object.name);
    }
  }
  return records;
}

Result<std::size_t> TakeBack(Store& location, RunLog& log, std::vector<std::string>& unreadable) {
  ASSIGN_OR_RETURN(std::vector<UnitRecord> records, ReadWorkResults(location, "", unreadable));
  std::set<std::string> damaged;
  for (UnitRecord& record : records) {
    if (record.line.state == UnitState::kVoid) damaged.insert(record.line.unit);
    // Work that was done before the damage was found is void, too.
    if (record.line.state != UnitState::kVoid && damaged.contains(record.line.unit)) {
      RETURN_IF_ERROR(location.Remove(ObjectOf(record.line)));
      continue;
    }
    ASSIGN_OR_RETURN(record.line.segment, log.AppendSegment(record.lineage));
    RETURN_IF_ERROR(log.Append(record.line));
    RETURN_IF_ERROR(location.Remove(ObjectOf(record.line)));
  }
  for (const std::string& object : unreadable) RETURN_IF_ERROR(location.Remove(object));
  return records.size();
}

}  // namespace pipeline
