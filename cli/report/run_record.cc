#include "cli/report/run_record.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/json_fields.h"
#include "base/str.h"

namespace pipeline {

template <class Fields, Of<RecordedBegin> T>
void ListFields(Fields& fields, T& begin) {
  fields.Loose("id", begin.id).Loose("pipeline", begin.pipeline).Loose("command", begin.command);
  fields.Loose("version", begin.version).Loose("system", begin.system).Loose("started", begin.started);
  fields.Loose("cores", begin.cores).Loose("memory", begin.memory).Loose("threads", begin.threads);
  fields.Loose("memory_limit", begin.memory_limit).Loose("libraries", begin.libraries);
}

template <class Fields, Of<RecordedStage> T>
void ListFields(Fields& fields, T& stage) {
  fields.Loose("name", stage.name).Loose("type", stage.type).Loose("inputs", stage.inputs);
  fields.Loose("state", stage.state).Loose("segment", stage.segment).Loose("pieces", stage.outputs);
  fields.Loose("quarantine", stage.quarantine).Loose("place", stage.location).Loose("link", stage.link);
  fields.Loose("files", stage.files).Loose("file_bytes", stage.file_bytes).Loose("vanished", stage.vanished);
  fields.Loose("longest_line", stage.longest_line).Loose("version", stage.version);
  fields.Loose("config", stage.config).Loose("recipe", stage.recipe).Loose("libraries", stage.libraries);
  fields.Loose("reasons", stage.reasons).Loose("sources", stage.sources);
}

template <class Fields, Of<RecordedUnit> T>
void ListFields(Fields& fields, T& unit) {
  fields.Loose("unit", unit.unit).Loose("begin", unit.begin).Loose("end", unit.end);
  fields.Loose("records", unit.records).Loose("read", unit.read).Loose("text", unit.text);
  fields.Loose("busy", unit.busy).Loose("failed", unit.failed).Loose("stopped", unit.stopped);
  fields.Loose("cpu", unit.cpu).Loose("child_cpu", unit.child_cpu).Loose("child_rss", unit.child_rss);
  fields.Loose("child_read", unit.child_read).Loose("child_written", unit.child_written);
  fields.Loose("host", unit.host);
}

template <class Fields, Of<HostWork> T>
void ListFields(Fields& fields, T& host) {
  fields.Loose("host", host.host).Loose("workers", host.workers).Loose("at_once", host.at_once);
  fields.Loose("units", host.units).Loose("bytes", host.bytes).Loose("twice", host.twice);
  fields.Loose("lost", host.lost);
  const auto seconds = [&fields](std::string_view name, auto& milliseconds) {
    double value = static_cast<double>(milliseconds) / 1000;
    fields.Loose(name, value);
    if constexpr (!std::is_const_v<T>) milliseconds = static_cast<std::int64_t>(1000 * value + 0.5);
  };
  seconds("inside", host.inside_ms);
  seconds("span", host.span_ms);
}

template <class Fields, Of<RecordedLogging> T>
void ListFields(Fields& fields, T& logged) {
  fields.Loose("unit", logged.unit).Loose("at", logged.at);
  fields.Loose("records", logged.records).Loose("bytes", logged.bytes);
}

template <class Fields, Of<RecordedMoment> T>
void ListFields(Fields& fields, T& moment) {
  fields.Loose("at", moment.at).Loose("read", moment.read).Loose("text", moment.text);
  fields.Loose("written", moment.written).Loose("cpu", moment.cpu).Loose("rss", moment.rss);
  fields.Loose("to_disk", moment.to_disk).Loose("units", moment.units);
  fields.Loose("child_cpu", moment.child_cpu).Loose("child_rss", moment.child_rss);
}

template <class Fields, Of<RecordedNote> T>
void ListFields(Fields& fields, T& note) {
  fields.Loose("at", note.at).Loose("text", note.text);
}

template <class Fields, Of<RecordedExample> T>
void ListFields(Fields& fields, T& example) {
  fields.Loose("stage", example.stage).Loose("reason", example.reason);
  fields.Loose("text", example.text).Loose("cut", example.cut);
}

template <class Fields, Of<StageText> T>
void ListFields(Fields& fields, T& text) {
  fields.Loose("sampled", text.profile.sampled).Loose("records", text.profile.records);
  fields.Loose("changed", text.changed).Loose("dropped", text.dropped);
  fields.Loose("lengths", text.profile.lengths);
  std::map<std::string, std::uint64_t> characters;
  for (std::size_t at = 0; at < kProfileClasses.size(); ++at)
    if (text.profile.characters[at] > 0) characters.emplace(kProfileClasses[at], text.profile.characters[at]);
  fields.Loose("characters", characters);
  if constexpr (!std::is_const_v<T>)
    for (std::size_t at = 0; at < kProfileClasses.size(); ++at)
      text.profile.characters[at] = characters[std::string(kProfileClasses[at])];
}

template <class Fields, Of<Sample> T>
void ListFields(Fields& fields, T& sample) {
  fields.Written("text", sample.text).Loose("marks", sample.marks);
  fields.Loose("front", sample.front).Loose("back", sample.back);
}

template <class Fields, Of<SamplePair> T>
void ListFields(Fields& fields, T& pair) {
  fields.Written("before", pair.before).Loose("after", pair.after);
}

template <class Fields, Of<RecordedCounts> T>
void ListFields(Fields& fields, T& counts) {
  fields.Loose("records_in", counts.counts.records_in).Loose("records_out", counts.counts.records_out);
  fields.Loose("bytes_in", counts.counts.bytes_in).Loose("bytes_out", counts.counts.bytes_out);
  fields.Loose("reasons", counts.counts.reasons).Loose("partitions", counts.partitions);
  fields.Loose("shards", counts.shards).Loose("shard_bytes", counts.shard_bytes);
  std::map<std::string, std::vector<std::uint64_t>> splits;
  for (const auto& [name, split] : counts.splits)
    splits.emplace(name, std::vector{split.records, split.documents, split.bytes});
  fields.Loose("splits", splits);
  if constexpr (!std::is_const_v<T>)
    for (const auto& [name, sums] : splits)
      if (sums.size() == 3)
        counts.splits.insert_or_assign(name, ArtifactTotals::Split{sums[0], sums[1], sums[2]});
}

template <class Fields, Of<RecordedEnd> T>
void ListFields(Fields& fields, T& end) {
  fields.Loose("at", end.at).Loose("outcome", end.outcome).Loose("peak_rss", end.peak_rss);
  fields.Loose("failures", end.failures);
}

namespace {

constexpr std::size_t kMostLengths = 128;

/// Returns an event under construction. `stage`: its member of that name; empty: it has none.
JsonWriter EventOf(const std::string& kind, const std::string& stage = {}) {
  JsonWriter event;
  event.Written("event", kind).Loose("stage", stage);
  return event;
}

std::string LineOf(JsonWriter event) { return event.Finish().Dump() + "\n"; }

template <class T>
std::string LineOf(JsonWriter event, const T& value) {
  ListFields(event, value);
  return LineOf(std::move(event));
}

std::string StageOf(const Json& json) { return std::string(json["stage"].AsString()); }

double TimeOf(const Json& json) { return JsonFields::ReadLoosely<double>(json["at"]); }

void TakeUnit(const Json& json, RunRecord& record) {
  RecordedUnit& unit = record.units.emplace_back(JsonFields::ReadLoosely<RecordedUnit>(json));
  unit.end = std::max(unit.begin, unit.end);
  // Earlier versions wrote a stop as a failure with this text.
  if (unit.failed == "stopped") unit.stopped = true, unit.failed.clear();
}

void TakeMoment(const Json& json, RunRecord& record) {
  RecordedMoment moment = JsonFields::ReadLoosely<RecordedMoment>(json);
  moment.child_cpu = std::min(moment.cpu, moment.child_cpu);
  moment.child_rss = std::min(moment.rss, moment.child_rss);
  if (record.moments.empty() || record.moments.back().at <= moment.at) record.moments.push_back(moment);
}

void TakeText(const Json& json, RunRecord& record) {
  StageText& text = record.texts[StageOf(json)];
  std::vector<SamplePair> pairs = std::move(text.pairs);
  text = JsonFields::ReadLoosely<StageText>(json);
  text.pairs = std::move(pairs);
  text.profile.lengths.resize(std::min(text.profile.lengths.size(), kMostLengths));
}

void TakePair(const Json& json, RunRecord& record) {
  SamplePair pair = JsonFields::ReadLoosely<SamplePair>(json);
  for (Sample* sample : {&pair.before, pair.after ? &*pair.after : nullptr}) {
    if (sample == nullptr) continue;
    std::erase_if(sample->marks, [sample](std::uint32_t mark) { return mark > sample->text.size(); });
    std::sort(sample->marks.begin(), sample->marks.end());
  }
  record.texts[StageOf(json)].pairs.push_back(std::move(pair));
}

void TakeReached(const Json& json, RunRecord& record) { record.reached.emplace(StageOf(json), TimeOf(json)); }

void TakeComplete(const Json& json, RunRecord& record) {
  record.completed.insert_or_assign(StageOf(json), TimeOf(json));
}

void TakeCounts(const Json& json, RunRecord& record) {
  record.counts[StageOf(json)] = JsonFields::ReadLoosely<RecordedCounts>(json);
}

void TakeEnd(const Json& json, RunRecord& record) { record.end = JsonFields::ReadLoosely<RecordedEnd>(json); }

template <class T, std::vector<T> RunRecord::*kEvents>
void Append(const Json& json, RunRecord& record) {
  (record.*kEvents).push_back(JsonFields::ReadLoosely<T>(json));
}

struct Taker {
  std::string_view kind;
  void (*take)(const Json&, RunRecord&);
};
constexpr std::array kTakers = {Taker{"stage", Append<RecordedStage, &RunRecord::stages>},
                                Taker{"logged", Append<RecordedLogging, &RunRecord::logged>},
                                Taker{"note", Append<RecordedNote, &RunRecord::notes>},
                                Taker{"example", Append<RecordedExample, &RunRecord::examples>},
                                Taker{"host", Append<HostWork, &RunRecord::hosts>},
                                Taker{"unit", TakeUnit},
                                Taker{"sample", TakeMoment},
                                Taker{"text", TakeText},
                                Taker{"pair", TakePair},
                                Taker{"counts", TakeCounts},
                                Taker{"reached", TakeReached},
                                Taker{"complete", TakeComplete},
                                Taker{"end", TakeEnd}};

/// Absent: the line is no object with a kind.
std::optional<Json> EventIn(std::string_view line) {
  Result<Json> json = Json::Parse(line);
  if (!json.ok() || !(*json)["event"].is_string()) return std::nullopt;
  return std::move(json).value();
}

}  // namespace

std::string_view FateOf(const RecordedStage& stage, std::string_view reason) {
  for (const auto& [name, fate] : stage.reasons)
    if (name == reason ||
        (name.ends_with('*') && reason.starts_with(std::string_view(name).substr(0, name.size() - 1))))
      return fate;
  if (reason.starts_with("dropped_")) return "dropped";
  return stage.reasons.empty() ? "stays" : "tally";
}

std::string EncodeEvent(const RecordedBegin& begin) {
  JsonWriter event = EventOf("run");
  event.Written("record", kRunRecordVersion);
  return LineOf(std::move(event), begin);
}
std::string EncodeEvent(const RecordedStage& stage) { return LineOf(EventOf("stage"), stage); }
std::string EncodeEvent(const RecordedUnit& unit) { return LineOf(EventOf("unit"), unit); }
std::string EncodeEvent(const RecordedLogging& logged) { return LineOf(EventOf("logged"), logged); }
std::string EncodeEvent(const RecordedMoment& moment) { return LineOf(EventOf("sample"), moment); }
std::string EncodeEvent(const RecordedNote& note) { return LineOf(EventOf("note"), note); }
std::string EncodeEvent(const RecordedExample& example) { return LineOf(EventOf("example"), example); }
std::string EncodeEvent(const HostWork& host) { return LineOf(EventOf("host"), host); }
std::string EncodeEvent(const RecordedEnd& end) { return LineOf(EventOf("end"), end); }

std::string EncodeReached(std::string_view stage, double at) {
  return LineOf(EventOf("reached", std::string(stage)).Loose("at", at));
}

std::string EncodeComplete(std::string_view stage, double at) {
  return LineOf(EventOf("complete", std::string(stage)).Loose("at", at));
}

std::string EncodeEvent(const std::string& stage, const RecordedCounts& counts) {
  return LineOf(EventOf("counts", stage), counts);
}

std::string EncodeEvent(const std::string& stage, const StageText& text) {
  std::string lines = LineOf(EventOf("text", stage), text);
  for (const SamplePair& pair : text.pairs) lines += LineOf(EventOf("pair", stage), pair);
  return lines;
}

std::string EncodeBegin(const RunRecord& record) {
  std::string lines = EncodeEvent(record.begin);
  for (const RecordedStage& stage : record.stages) lines += EncodeEvent(stage);
  for (const auto& [stage, counts] : record.counts) lines += EncodeEvent(stage, counts);
  return lines;
}

std::string EncodeOutcome(const RunRecord& record) {
  std::string lines;
  for (const RecordedUnit& unit : record.units) lines += EncodeEvent(unit);
  for (const auto& [stage, at] : record.reached) lines += EncodeReached(stage, at);
  for (const auto& [stage, at] : record.completed) lines += EncodeComplete(stage, at);
  for (const HostWork& host : record.hosts) lines += EncodeEvent(host);
  for (const auto& [stage, text] : record.texts) lines += EncodeEvent(stage, text);
  for (const auto& [stage, counts] : record.counts) lines += EncodeEvent(stage, counts);
  for (const RecordedExample& example : record.examples) lines += EncodeEvent(example);
  return record.end ? lines + EncodeEvent(*record.end) : lines;
}

Result<RunRecord> ParseRunRecord(std::string_view lines) {
  RunRecord record;
  bool begun = false;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::optional<Json> event = EventIn(lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    const std::string_view kind = event ? (*event)["event"].AsString() : std::string_view();
    if (!begun) {
      if (kind != "run" || !event->Has("record"))
        return Status(Code::kInvalidArgument, "it does not begin with an event `run`: no record of a run");
      if ((*event)["record"].AsInt() > kRunRecordVersion)
        return Status(Code::kFailedPrecondition,
                      StrCat("written by a newer pipe: record version ", (*event)["record"].AsInt(),
                             ", this one reads ", kRunRecordVersion));
      record.begin = JsonFields::ReadLoosely<RecordedBegin>(*event);
      record.begin.started = std::max<std::int64_t>(record.begin.started, 0);
      begun = true;
      continue;
    }
    const auto taker =
        std::find_if(kTakers.begin(), kTakers.end(), [&](const Taker& one) { return one.kind == kind; });
    if (taker != kTakers.end()) taker->take(*event, record);
  }
  if (!begun) return Status(Code::kInvalidArgument, "it is empty: no record of a run");
  return record;
}

namespace {

constexpr std::size_t kReadFailures = 200;  // of a segment, in which names of stages are searched

/// Records of earlier versions have it only in a note.
bool IsComplete(const RunRecord& record, const std::string& segment) {
  if (record.completed.contains(segment)) return true;
  if (!record.reached.empty()) return false;
  const std::string complete = StrCat("stage '", segment, "' is complete");
  const std::string published = StrCat("stage '", segment, "' published ");
  return std::any_of(record.notes.begin(), record.notes.end(), [&](const RecordedNote& note) {
    return note.text == complete || note.text.starts_with(published);
  });
}

bool IsReached(const RunRecord& record, const std::string& segment) {
  if (record.reached.contains(segment)) return true;
  const auto of_it = [&](const auto& entry) { return StageOfUnit(entry.unit) == segment; };
  return std::any_of(record.units.begin(), record.units.end(), of_it) ||
         std::any_of(record.logged.begin(), record.logged.end(), of_it);
}

/// The message of a unit with several stages names the stage that failed.
bool NamesStage(std::string_view why, const RecordedStage& stage) {
  return why.find(StrCat("stage '", stage.name, "'")) != std::string_view::npos;
}

}  // namespace

std::string StateOf(const RunRecord& record, const RecordedStage& stage) {
  if (stage.state != "run" && stage.state != "copy") return stage.state;
  const std::string& segment = stage.segment.empty() ? stage.name : stage.segment;
  if (record.end) {
    bool failed = false, named = false, names_this = false;
    std::size_t read = 0;
    for (const auto& [unit, why] : record.end->failures) {
      if (StageOfUnit(unit) != segment) continue;
      failed = true;
      if (++read > kReadFailures) break;
      names_this = names_this || NamesStage(why, stage);
      for (const RecordedStage& other : record.stages)
        named = named ||
                ((other.segment.empty() ? other.name : other.segment) == segment && NamesStage(why, other));
    }
    if (failed) return names_this || (!named && stage.name == segment) ? "failed" : "stopped";
  }
  if (IsComplete(record, segment)) return stage.state == "copy" ? "copied" : "done";
  if (!IsReached(record, segment)) return "not reached";
  if (!record.end) return record.alive ? "running" : "killed";
  return record.end->outcome == "done" ? (stage.state == "copy" ? "copied" : "done") : "stopped";
}

}  // namespace pipeline
