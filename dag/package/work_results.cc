#include "dag/package/work_results.h"

#include <algorithm>

#include "base/json.h"
#include "base/str.h"
#include "dag/books/run_log_line.h"
#include "dag/books/unit_id.h"
#include "dag/package/versioned_json.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kOneLine = 2;  // of a record without `partition`; 1: it has the text of its lineage
constexpr std::uint64_t kMaxRecord = 64 << 20;
constexpr std::uint64_t kMaxLineage = std::uint64_t{1} << 30;
constexpr std::string_view kDone = "done/";
constexpr std::string_view kVoid = "void/";
constexpr std::string_view kChanged = "changed/";
constexpr std::uint64_t kMaxPath = 64 << 10;
constexpr std::size_t kCutDigits = 8;  // so that names are in the order of the numbers
constexpr std::string_view kLineage = "lineage/";

std::string ObjectOf(const UnitLine& line) {
  if (line.HasFirstCuts()) {
    std::string number = std::to_string(line.cuts.size());
    number.insert(0, kCutDigits - std::min(kCutDigits, number.size()), '0');
    return StrCat(kDone, line.unit, ".", number, kJsonSuffix);
  }
  return StrCat(line.state == UnitState::kVoid ? kVoid : kDone, line.unit, kJsonSuffix);
}

/// Returns whether both lines describe the same work.
bool SameWork(const UnitLine& a, const UnitLine& b) {
  const auto same_end = [](const PartitionEnd& one, const PartitionEnd& other) {
    return one.raw_end == other.raw_end && one.document_end == other.document_end;
  };
  return a.state == b.state && a.recipe == b.recipe && a.digest == b.digest && a.objects == b.objects &&
         a.partitions == b.partitions && std::ranges::equal(a.cuts, b.cuts, same_end);
}

/// Returns whether both records do. One may have a partition that has a record of its own beside the other.
bool SameWork(const UnitRecord& a, const UnitRecord& b) {
  const bool both = a.partition && b.partition && a.partition->unit == b.partition->unit;
  return SameWork(a.line, b.line) && (!both || SameWork(*a.partition, *b.partition));
}

/// Returns whether one has the cuts and the other the end of an input. Either is enough.
bool BothEnd(const UnitLine& a, const UnitLine& b) {
  const auto is = [](const UnitLine& one, UnitState state) { return one.state == state; };
  return a.recipe == b.recipe && ((is(a, UnitState::kCuts) && is(b, UnitState::kEnd)) ||
                                  (is(a, UnitState::kEnd) && is(b, UnitState::kCuts)));
}

std::string ObjectOfLineage(const Digest& digest) { return StrCat(kLineage, digest.ToHex()); }

Result<UnitLine> DecodeMember(std::string_view member, const std::string& text) {
  const std::optional<LineHead> head = ScanLine(text);
  std::optional<UnitLine> line = head ? DecodeUnit(*head) : std::nullopt;
  if (!line) return Status(Code::kDataLoss, StrCat(member, ": damaged"));
  return std::move(*line);
}

/// Returns whether `line` tells that a partition is done of the input that `unit` reads.
bool IsOfInput(const UnitLine& line, std::string_view unit) {
  const std::optional<UnitId> whole = ParseUnitId(unit), part = ParseUnitId(line.unit);
  const StreamId* const input = whole ? std::get_if<StreamId>(&whole->part) : nullptr;
  const PartitionId* const partition = part ? std::get_if<PartitionId>(&part->part) : nullptr;
  return line.state == UnitState::kDone && input != nullptr && partition != nullptr &&
         part->stage == whole->stage && partition->input == input->input;
}

/// The lineages of a work package, each read once.
class Lineages {
 public:
  explicit Lineages(Store& location) : location_(location) {}

  /// kDataLoss: it is missing or damaged; a damaged one is added to `unreadable` once.
  Result<std::shared_ptr<const std::string>> Read(const Digest& digest,
                                                  std::vector<std::string>& unreadable) {
    const auto [known, is_new] = texts_.try_emplace(digest);
    if (is_new) {
      Result<std::string> text = ReadObject(location_, ObjectOfLineage(digest), kMaxLineage);
      const bool is_missing = text.status().code() == Code::kNotFound;
      if (!text.ok() && !is_missing && !IsDamaged(text.status())) return std::move(text).status();
      if (text.ok() && DigestOf(*text) == digest)
        known->second = std::make_shared<const std::string>(std::move(*text));
      else if (!is_missing)
        unreadable.push_back(ObjectOfLineage(digest));
    }
    if (known->second == nullptr) return Status(Code::kDataLoss, "lineage: missing or damaged");
    return known->second;
  }

 private:
  Store& location_;
  std::map<Digest, std::shared_ptr<const std::string>> texts_;  // null: missing or damaged
};

/// Reads the records `objects`. Each name is KIND/UNIT.json.
Result<ReadObjects<UnitRecord>> ReadRecords(Store& location, const std::vector<ObjectInfo>& objects,
                                            const std::stop_token& stop) {
  return ReadEach<UnitRecord>(location, objects, kMaxRecord, stop,
                              [](std::string_view text, std::string_view name) {
                                name.remove_prefix(name.find('/') + 1);
                                name.remove_suffix(kJsonSuffix.size());
                                return ParseUnitRecord(text, UnitOfRecord(name));
                              });
}

}  // namespace

std::vector<UnitLine> UnitRecord::LinesIn(std::uint32_t segment) const {
  std::vector<UnitLine> lines;
  if (partition) lines.push_back(*partition);
  lines.push_back(line);
  for (UnitLine& one : lines) one.segment = segment;
  return lines;
}

UnitRecord RecordOf(UnitLine line, std::string lineage) {
  UnitRecord record;
  record.line = std::move(line);
  record.lineage = DigestOf(lineage);
  record.lineage_text = std::make_shared<const std::string>(std::move(lineage));
  return record;
}

std::string EncodeUnitRecord(const UnitRecord& record) {
  const auto text_of = [](const UnitLine& line) {
    std::string text = EncodeLine(line);
    text.pop_back();  // LF
    return text;
  };
  JsonWriter json;
  json.Written("pipe_done", record.partition ? kWorkResultVersion : kOneLine)
      .Written("line", text_of(record.line));
  if (record.partition) json.Written("partition", text_of(*record.partition));
  json.Written("lineage", record.lineage).Loose("who", record.who);
  if (record.took.count() > 0) json.Written("took_ms", record.took);
  if (record.began > 0) json.Written("began", record.began);
  return json.Finish().Dump();
}

Result<UnitRecord> ParseUnitRecord(std::string_view text, std::string_view unit) {
  ASSIGN_OR_RETURN(const Json json, ParseVersioned(text, "pipe_done", kWorkResultVersion));
  Status status;
  JsonFields fields(json, "", status);
  const std::uint64_t version = fields.Number("pipe_done");
  const std::string line = fields.Text("line");
  const std::string partition = version < kWorkResultVersion ? std::string() : fields.Text("partition");
  UnitRecord record;
  if (version < kOneLine) {
    record = RecordOf({}, fields.Text("lineage"));
  } else {
    record.lineage = fields.Hex("lineage");
  }
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(record.line, DecodeMember("line", line));
  if (record.line.unit != unit)
    return Status(Code::kDataLoss, StrCat("line: it is about ", record.line.unit));
  if (version == kWorkResultVersion) {
    ASSIGN_OR_RETURN(record.partition, DecodeMember("partition", partition));
    if (!IsOfInput(*record.partition, unit))
      return Status(Code::kDataLoss, StrCat("partition: it is about ", record.partition->unit));
  }
  record.who = json["who"].AsString();
  record.took = std::chrono::milliseconds(std::max<std::int64_t>(json["took_ms"].AsInt(), 0));
  record.began = std::max<std::int64_t>(json["began"].AsInt(), 0);
  return record;
}

WorkHistory HistoryOf(const std::vector<UnitRecord>& records) {
  WorkHistory history;
  for (const UnitRecord& record : records) {
    if (record.line.state == UnitState::kVoid || record.line.HasFirstCuts()) continue;
    for (const UnitLine& line : record.LinesIn(0)) {
      WorkHistory::Entry& entry = history.results.emplace_back();
      entry.unit = line.unit;
      entry.who = record.who;
      entry.began = record.began;
      entry.took_ms = record.took.count();
      entry.bytes = BytesOf(line.objects);
      entry.records = line.records;
    }
  }
  return history;
}

Status ResultWriter::WriteLineage(const UnitRecord& record) {
  const Lock lock(mutex_);
  if (lineages_.contains(record.lineage)) return {};
  const Status written =
      WriteObject(location_, ObjectOfLineage(record.lineage), *record.lineage_text, Condition::CreateOnly())
          .status();
  if (!written.ok() && written.code() != Code::kAlreadyExists) return written;
  lineages_.insert(record.lineage);
  return {};
}

Status ResultWriter::Write(const UnitRecord& record) {
  RETURN_IF_ERROR(WriteLineage(record));
  const std::string object = ObjectOf(record.line);
  const std::string text = EncodeUnitRecord(record);
  const Status written = WriteObject(location_, object, text, Condition::CreateOnly()).status();
  if (written.ok() || written.code() != Code::kAlreadyExists) return written;
  const Result<std::string> there = ReadObject(location_, object, kMaxRecord);
  if (!there.ok()) return there.status();
  const Result<UnitRecord> other = ParseUnitRecord(*there, record.line.unit);
  if (other.ok() && (SameWork(*other, record) || BothEnd(other->line, record.line))) {
    // The answer to its own request may have been lost.
    const bool own = other->who == record.who && other->began == record.began;
    const Lock lock(mutex_);
    if (!own) again_.Add(HistoryOf({record}));
    return {};
  }
  if (other.ok() && other->line.recipe == record.line.recipe && record.line.state != UnitState::kVoid)
    return Status(Code::kInternal, StrCat(object, ": another worker made other bytes by the same recipe, or ",
                                          "this one did; a stage is not deterministic [this is a bug]"));
  return WriteObject(location_, object, text, Condition::ReplaceAny()).status();
}

void ResultWriter::EndUnit() {
  const Lock lock(mutex_);
  (void)WriteHistory(location_, run_, std::exchange(again_, {}));  // only people ask for it
}

Result<std::vector<UnitRecord>> ReadWorkResults(Store& location, std::string_view prefix,
                                                std::vector<std::string>& unreadable) {
  std::vector<UnitRecord> records;
  std::vector<std::string> damaged_lineages;
  Lineages lineages(location);
  for (const std::string_view kind : {kVoid, kDone}) {
    ASSIGN_OR_RETURN(std::vector<ObjectInfo> objects, location.List(StrCat(kind, prefix)));
    std::erase_if(objects, [](const ObjectInfo& object) { return !object.name.ends_with(kJsonSuffix); });
    ASSIGN_OR_RETURN(ReadObjects<UnitRecord> read, ReadRecords(location, objects, {}));
    for (std::size_t at = 0; at < objects.size(); ++at) {
      if (!read[at]) continue;  // removed meanwhile, or replaced
      Result<UnitRecord>& record = *read[at];
      if (record.ok() && !record->lineage_text) {
        Result<std::shared_ptr<const std::string>> lineage = lineages.Read(record->lineage, damaged_lineages);
        if (!lineage.ok() && lineage.status().code() != Code::kDataLoss) return lineage.status();
        if (lineage.ok())
          record->lineage_text = std::move(*lineage);
        else
          record = std::move(lineage).status();
      }
      if (record.ok() && ObjectOf(record->line) == objects[at].name) {
        record->object = objects[at];
        records.push_back(std::move(*record));
      } else {
        unreadable.push_back(objects[at].name);
      }
    }
  }
  // Otherwise the next record of the same lineage is unreadable, too.
  unreadable.insert(unreadable.end(), damaged_lineages.begin(), damaged_lineages.end());
  return records;
}

Result<WorkHistory> ReadFinished(Store& location, const std::vector<ObjectInfo>& objects,
                                 const std::stop_token& stop) {
  ASSIGN_OR_RETURN(ReadObjects<UnitRecord> read, ReadRecords(location, objects, stop));
  std::vector<UnitRecord> records;
  for (std::optional<Result<UnitRecord>>& record : read)
    if (record && record->ok()) records.push_back(std::move(**record));
  return HistoryOf(records);
}

std::string_view UnitOfRecord(std::string_view name) {
  constexpr std::string_view kInput = "-*";
  const std::size_t at = name.find(StrCat(kInput, "."));
  return at == std::string_view::npos ? name : name.substr(0, at + kInput.size());
}

bool TellsMore(const UnitLine& line, const RunLog& log) {
  if (!line.HasFirstCuts()) return true;
  if (const UnitLine* end = log.FindDone(line.unit); end != nullptr && end->recipe == line.recipe)
    return false;
  const UnitLine* const known = log.FindCuts(line.unit);
  return known == nullptr || known->recipe != line.recipe || known->cuts.size() < line.cuts.size();
}

Result<TakenResults> AddResults(std::vector<UnitRecord> records, std::vector<std::string> unreadable,
                                RunLog& log) {
  TakenResults taken;
  for (const std::string& object : unreadable) taken.objects.push_back(ObjectInfo::Any(object));
  taken.unreadable = std::move(unreadable);
  std::set<std::string> damaged;
  std::vector<UnitLine> lines;
  std::map<Digest, std::uint32_t> segments;  // by lineage
  for (UnitRecord& record : records) {
    taken.objects.push_back(record.object.name.empty() ? ObjectInfo::Any(ObjectOf(record.line))
                                                       : std::move(record.object));
    if (record.line.state == UnitState::kVoid) damaged.insert(record.line.unit);
    // Work that was done before the damage was found is void, too.
    const auto is_void = [&damaged](const UnitLine& line) {
      return line.state != UnitState::kVoid && damaged.contains(line.unit);
    };
    if (is_void(record.line)) continue;
    if (!TellsMore(record.line, log)) continue;
    // A record of first cuts has all those of the one before.
    if (record.line.HasFirstCuts() && !lines.empty() && lines.back().HasFirstCuts() &&
        lines.back().unit == record.line.unit)
      lines.pop_back();
    if (record.line.state != UnitState::kVoid) ++taken.added;
    const auto [segment, is_new] = segments.try_emplace(record.lineage);
    if (is_new) {
      ASSIGN_OR_RETURN(segment->second, log.AppendSegment(*record.lineage_text));
    }
    const std::optional<UnitId> unit = ParseUnitId(record.line.unit);
    if (unit && record.took.count() > 0 && record.line.state != UnitState::kCuts)
      taken.times[unit->stage].push_back(record.took);
    for (UnitLine& line : record.LinesIn(segment->second))
      if (!is_void(line)) lines.push_back(std::move(line));
  }
  RETURN_IF_ERROR(log.Append(lines));
  return taken;
}

Status RemoveResults(Store& location, const TakenResults& taken) {
  return RemoveObjects(location, taken.objects);
}

Status WriteChangedSource(Store& location, const std::string& real_path) {
  const std::string object = StrCat(kChanged, DigestOf(real_path).ToHex());
  return WriteObject(location, object, real_path, Condition::ReplaceAny()).status();
}

Status TakeChangedSources(Store& location, TakenResults& taken,
                          const std::function<void(const std::string& real_path)>& changed) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, location.List(kChanged));
  for (const ObjectInfo& object : objects) {
    const Result<std::string> path = ReadObject(location, object, kMaxPath);
    if (path.status().code() == Code::kNotFound) continue;  // a plan has taken it
    RETURN_IF_ERROR(path.status());
    changed(*path);
    taken.objects.push_back(object);
  }
  return {};
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
  for (OfferedUnit& unit : work_package.units) {
    const std::optional<UnitId> id = ParseUnitId(unit.unit);
    if (const auto pace = work_package.pace.find(id ? id->stage : ""); pace != work_package.pace.end())
      unit.needs.seconds =
          static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(pace->second).count());
  }
}

}  // namespace pipeline
