#include "cli/report/run_record.h"

#include <algorithm>
#include <array>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::int64_t kVersion = 1;

/// An event under construction: members that are zero or empty are left out.
class Event {
 public:
  explicit Event(std::string_view kind) { json_["event"] = kind; }
  Event& Set(std::string_view name, const std::string& value) {
    if (!value.empty()) json_[name] = value;
    return *this;
  }
  Event& Set(std::string_view name, std::uint64_t value) {
    if (value != 0) json_[name] = value;
    return *this;
  }
  Event& Set(std::string_view name, double value) {
    // Microseconds are enough, and keep the lines short.
    if (value > 0) json_[name] = static_cast<double>(static_cast<std::int64_t>(value * 1e6 + 0.5)) / 1e6;
    return *this;
  }
  Event& Set(std::string_view name, bool value) {
    if (value) json_[name] = value;
    return *this;
  }
  Event& Set(std::string_view name, Json value) {
    if (!value.is_null()) json_[name] = std::move(value);
    return *this;
  }
  std::string Line() const { return json_.Dump() + "\n"; }
  Json& json() { return json_; }

 private:
  Json json_;
};

std::string TextOf(const Json& json, std::string_view member) { return std::string(json[member].AsString()); }

std::uint64_t CountOf(const Json& json, std::string_view member) { return json[member].AsCount(); }

/// Returns a time or a sum of times; it is never negative, so that nothing is drawn outside of a chart.
double SecondsOf(const Json& json) { return std::clamp(json.AsDouble(), 0.0, 1e12); }
double SecondsOf(const Json& json, std::string_view member) { return SecondsOf(json[member]); }

Json ToJson(const Sample& sample) {
  Json json;
  json["text"] = sample.text;
  for (const std::uint32_t mark : sample.marks) json["marks"].Append(mark);
  if (sample.front) json["front"] = true;
  if (sample.back) json["back"] = true;
  return json;
}

Sample SampleOf(const Json& json) {
  Sample sample;
  sample.text = TextOf(json, "text");
  for (const Json& mark : json["marks"].AsArray())
    if (mark.AsCount() <= sample.text.size())
      sample.marks.push_back(static_cast<std::uint32_t>(mark.AsCount()));
  std::sort(sample.marks.begin(), sample.marks.end());
  sample.front = json["front"].AsBool();
  sample.back = json["back"].AsBool();
  return sample;
}

RecordedBegin BeginOf(const Json& json) {
  RecordedBegin begin;
  begin.id = TextOf(json, "id");
  begin.pipeline = TextOf(json, "pipeline");
  begin.command = TextOf(json, "command");
  begin.version = TextOf(json, "version");
  begin.system = TextOf(json, "system");
  begin.started = static_cast<std::int64_t>(CountOf(json, "started"));
  for (const auto& [name, version] : json["libraries"].AsObject())
    begin.libraries.emplace(name, version.AsString());
  begin.cores = CountOf(json, "cores");
  begin.memory = CountOf(json, "memory");
  begin.threads = CountOf(json, "threads");
  begin.memory_limit = CountOf(json, "memory_limit");
  return begin;
}

void TakeStage(const Json& json, RunRecord& record) {
  RecordedStage stage;
  stage.name = TextOf(json, "name");
  stage.type = TextOf(json, "type");
  for (const Json& input : json["inputs"].AsArray()) stage.inputs.emplace_back(input.AsString());
  stage.state = TextOf(json, "state");
  stage.segment = TextOf(json, "segment");
  stage.outputs = TextOf(json, "pieces");
  stage.quarantine = TextOf(json, "quarantine");
  stage.location = TextOf(json, "place");
  stage.link = TextOf(json, "link");
  stage.files = CountOf(json, "files");
  stage.file_bytes = CountOf(json, "file_bytes");
  stage.vanished = TextOf(json, "vanished");
  stage.longest_line = TextOf(json, "longest_line");
  stage.version = CountOf(json, "version");
  if (json["config"].is_object()) stage.config = json["config"];
  stage.recipe = TextOf(json, "recipe");
  for (const auto& [name, version] : json["libraries"].AsObject())
    stage.libraries.emplace(name, version.AsString());
  for (const auto& [name, fate] : json["reasons"].AsObject()) stage.reasons.emplace(name, fate.AsString());
  for (const Json& source : json["sources"].AsArray())
    if (source.AsArray().size() == 2)
      stage.sources.emplace_back(source.AsArray()[0].AsString(), source.AsArray()[1].AsString());
  record.stages.push_back(std::move(stage));
}

void TakeUnit(const Json& json, RunRecord& record) {
  RecordedUnit unit;
  unit.unit = TextOf(json, "unit");
  unit.begin = SecondsOf(json, "begin");
  unit.end = std::max(unit.begin, SecondsOf(json, "end"));
  unit.records = CountOf(json, "records");
  unit.read = CountOf(json, "read");
  unit.text = CountOf(json, "text");
  for (const auto& [stage, seconds] : json["busy"].AsObject()) unit.busy.emplace(stage, SecondsOf(seconds));
  unit.failed = TextOf(json, "failed");
  unit.stopped = json["stopped"].AsBool();
  // Earlier versions wrote a stop as a failure with this text.
  if (unit.failed == "stopped") unit.stopped = true, unit.failed.clear();
  unit.cpu = SecondsOf(json, "cpu");
  unit.child_cpu = SecondsOf(json, "child_cpu");
  unit.child_rss = CountOf(json, "child_rss");
  unit.child_read = CountOf(json, "child_read");
  unit.child_written = CountOf(json, "child_written");
  unit.host = TextOf(json, "host");
  record.units.push_back(std::move(unit));
}

void TakeHost(const Json& json, RunRecord& record) {
  HostWork host;
  host.host = TextOf(json, "host");
  host.workers = CountOf(json, "workers");
  host.at_once = CountOf(json, "at_once");
  host.units = CountOf(json, "units");
  host.inside_ms = static_cast<std::int64_t>(1000 * SecondsOf(json, "inside") + 0.5);
  host.span_ms = static_cast<std::int64_t>(1000 * SecondsOf(json, "span") + 0.5);
  host.bytes = CountOf(json, "bytes");
  host.twice = CountOf(json, "twice");
  host.lost = CountOf(json, "lost");
  record.hosts.push_back(std::move(host));
}

void TakeLogged(const Json& json, RunRecord& record) {
  record.logged.push_back(
      {TextOf(json, "unit"), SecondsOf(json, "at"), CountOf(json, "records"), CountOf(json, "bytes")});
}

void TakeReached(const Json& json, RunRecord& record) {
  record.reached.emplace(TextOf(json, "stage"), SecondsOf(json, "at"));
}

void TakeComplete(const Json& json, RunRecord& record) {
  record.completed.insert_or_assign(TextOf(json, "stage"), SecondsOf(json, "at"));
}

void TakeMoment(const Json& json, RunRecord& record) {
  RecordedMoment moment;
  moment.at = SecondsOf(json, "at");
  moment.read = CountOf(json, "read");
  moment.text = CountOf(json, "text");
  moment.written = CountOf(json, "written");
  moment.cpu = SecondsOf(json, "cpu");
  moment.rss = CountOf(json, "rss");
  moment.to_disk = CountOf(json, "to_disk");
  moment.units = CountOf(json, "units");
  moment.child_cpu = std::min(moment.cpu, SecondsOf(json, "child_cpu"));
  moment.child_rss = std::min(moment.rss, CountOf(json, "child_rss"));
  if (record.moments.empty() || record.moments.back().at <= moment.at) record.moments.push_back(moment);
}

void TakeNote(const Json& json, RunRecord& record) {
  record.notes.push_back({SecondsOf(json, "at"), TextOf(json, "text")});
}

void TakeText(const Json& json, RunRecord& record) {
  StageText& text = record.texts[TextOf(json, "stage")];
  text.profile.sampled = CountOf(json, "sampled");
  text.profile.records = CountOf(json, "records");
  text.changed = CountOf(json, "changed");
  text.dropped = CountOf(json, "dropped");
  for (const Json& count : json["lengths"].AsArray())
    if (text.profile.lengths.size() < 128) text.profile.lengths.push_back(count.AsCount());
  for (std::size_t at = 0; at < kProfileClasses.size(); ++at)
    text.profile.characters[at] = CountOf(json["characters"], kProfileClasses[at]);
}

void TakePair(const Json& json, RunRecord& record) {
  SamplePair pair;
  pair.before = SampleOf(json["before"]);
  if (json.Has("after")) pair.after = SampleOf(json["after"]);
  record.texts[TextOf(json, "stage")].pairs.push_back(std::move(pair));
}

void TakeCounts(const Json& json, RunRecord& record) {
  RecordedCounts& counts = record.counts[TextOf(json, "stage")];
  counts = {};
  counts.counts.records_in = CountOf(json, "records_in");
  counts.counts.records_out = CountOf(json, "records_out");
  counts.counts.bytes_in = CountOf(json, "bytes_in");
  counts.counts.bytes_out = CountOf(json, "bytes_out");
  for (const auto& [reason, count] : json["reasons"].AsObject())
    counts.counts.reasons.insert_or_assign(reason, count.AsCount());
  counts.partitions = CountOf(json, "partitions");
  counts.shards = CountOf(json, "shards");
  counts.shard_bytes = CountOf(json, "shard_bytes");
  for (const auto& [name, sums] : json["splits"].AsObject()) {
    if (sums.AsArray().size() != 3) continue;
    counts.splits.insert_or_assign(
        name, ArtifactTotals::Split{sums.AsArray()[0].AsCount(), sums.AsArray()[1].AsCount(),
                                    sums.AsArray()[2].AsCount()});
  }
}

void TakeExample(const Json& json, RunRecord& record) {
  record.examples.push_back(
      {TextOf(json, "stage"), TextOf(json, "reason"), TextOf(json, "text"), json["cut"].AsBool()});
}

void TakeEnd(const Json& json, RunRecord& record) {
  RecordedEnd end;
  end.at = SecondsOf(json, "at");
  end.outcome = TextOf(json, "outcome");
  end.peak_rss = CountOf(json, "peak_rss");
  for (const Json& failure : json["failures"].AsArray())
    end.failures.emplace_back(TextOf(failure, "unit"), TextOf(failure, "why"));
  record.end = std::move(end);
}

struct Taker {
  std::string_view kind;
  void (*take)(const Json&, RunRecord&);
};
constexpr std::array kTakers = {
    Taker{"stage", TakeStage},     Taker{"unit", TakeUnit},         Taker{"logged", TakeLogged},
    Taker{"sample", TakeMoment},   Taker{"note", TakeNote},         Taker{"text", TakeText},
    Taker{"pair", TakePair},       Taker{"counts", TakeCounts},     Taker{"example", TakeExample},
    Taker{"reached", TakeReached}, Taker{"complete", TakeComplete}, Taker{"host", TakeHost},
    Taker{"end", TakeEnd}};

/// Absent: the line is no object with a kind.
std::optional<Json> EventOf(std::string_view line) {
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
  Event event("run");
  event.json()["record"] = kVersion;
  event.Set("id", begin.id).Set("pipeline", begin.pipeline).Set("command", begin.command);
  event.Set("version", begin.version).Set("system", begin.system);
  event.Set("started", static_cast<std::uint64_t>(begin.started)).Set("cores", begin.cores);
  event.Set("memory", begin.memory).Set("threads", begin.threads).Set("memory_limit", begin.memory_limit);
  for (const auto& [name, version] : begin.libraries) event.json()["libraries"][name] = version;
  return event.Line();
}

std::string EncodeEvent(const RecordedStage& stage) {
  Event event("stage");
  event.Set("name", stage.name).Set("type", stage.type).Set("state", stage.state);
  event.Set("segment", stage.segment).Set("pieces", stage.outputs).Set("quarantine", stage.quarantine);
  event.Set("place", stage.location).Set("link", stage.link);
  event.Set("files", stage.files).Set("file_bytes", stage.file_bytes).Set("vanished", stage.vanished);
  event.Set("longest_line", stage.longest_line);
  for (const std::string& input : stage.inputs) event.json()["inputs"].Append(input);
  event.Set("version", stage.version).Set("config", stage.config).Set("recipe", stage.recipe);
  for (const auto& [name, version] : stage.libraries) event.json()["libraries"][name] = version;
  for (const auto& [name, fate] : stage.reasons) event.json()["reasons"][name] = fate;
  for (const auto& [name, digest] : stage.sources) {
    Json source;
    source.Append(name);
    source.Append(digest);
    event.json()["sources"].Append(std::move(source));
  }
  return event.Line();
}

std::string EncodeEvent(const RecordedUnit& unit) {
  Event event("unit");
  event.Set("unit", unit.unit).Set("begin", unit.begin).Set("end", unit.end);
  event.Set("records", unit.records).Set("read", unit.read).Set("text", unit.text);
  Event busy("");
  busy.json().Remove("event");
  for (const auto& [stage, seconds] : unit.busy) busy.Set(stage, seconds);
  if (!busy.json().AsObject().empty()) event.json()["busy"] = busy.json();
  event.Set("cpu", unit.cpu).Set("child_cpu", unit.child_cpu).Set("child_rss", unit.child_rss);
  event.Set("child_read", unit.child_read).Set("child_written", unit.child_written);
  return event.Set("failed", unit.failed).Set("stopped", unit.stopped).Set("host", unit.host).Line();
}

std::string EncodeEvent(const RecordedLogging& logged) {
  return Event("logged")
      .Set("unit", logged.unit)
      .Set("at", logged.at)
      .Set("records", logged.records)
      .Set("bytes", logged.bytes)
      .Line();
}

std::string EncodeEvent(const RecordedMoment& moment) {
  Event event("sample");
  event.Set("at", moment.at).Set("read", moment.read).Set("text", moment.text).Set("written", moment.written);
  event.Set("cpu", moment.cpu).Set("rss", moment.rss).Set("to_disk", moment.to_disk);
  event.Set("child_cpu", moment.child_cpu).Set("child_rss", moment.child_rss);
  return event.Set("units", moment.units).Line();
}

std::string EncodeEvent(const RecordedNote& note) {
  return Event("note").Set("at", note.at).Set("text", note.text).Line();
}

std::string EncodeEvent(const RecordedExample& example) {
  return Event("example")
      .Set("stage", example.stage)
      .Set("reason", example.reason)
      .Set("text", example.text)
      .Set("cut", example.cut)
      .Line();
}

std::string EncodeReached(std::string_view stage, double at) {
  return Event("reached").Set("stage", std::string(stage)).Set("at", at).Line();
}

std::string EncodeComplete(std::string_view stage, double at) {
  return Event("complete").Set("stage", std::string(stage)).Set("at", at).Line();
}

std::string EncodeEvent(const HostWork& host) {
  Event event("host");
  event.Set("host", host.host).Set("workers", host.workers).Set("at_once", host.at_once);
  event.Set("units", host.units).Set("inside", static_cast<double>(host.inside_ms) / 1000);
  event.Set("span", static_cast<double>(host.span_ms) / 1000).Set("bytes", host.bytes);
  return event.Set("twice", host.twice).Set("lost", host.lost).Line();
}

std::string EncodeEvent(const RecordedEnd& end) {
  Event event("end");
  event.Set("at", end.at).Set("outcome", end.outcome).Set("peak_rss", end.peak_rss);
  for (const auto& [unit, why] : end.failures) {
    Json failure;
    failure["unit"] = unit;
    failure["why"] = why;
    event.json()["failures"].Append(std::move(failure));
  }
  return event.Line();
}

std::string EncodeEvent(const std::string& stage, const RecordedCounts& counts) {
  Event event("counts");
  event.Set("stage", stage);
  event.Set("records_in", counts.counts.records_in).Set("records_out", counts.counts.records_out);
  event.Set("bytes_in", counts.counts.bytes_in).Set("bytes_out", counts.counts.bytes_out);
  event.Set("partitions", counts.partitions).Set("shards", counts.shards);
  event.Set("shard_bytes", counts.shard_bytes);
  for (const auto& [reason, count] : counts.counts.reasons) event.json()["reasons"][reason] = count;
  for (const auto& [name, split] : counts.splits)
    for (const std::uint64_t sum : {split.records, split.documents, split.bytes})
      event.json()["splits"][name].Append(sum);
  return event.Line();
}

std::string EncodeEvent(const std::string& stage, const StageText& text) {
  Event event("text");
  event.Set("stage", stage).Set("sampled", text.profile.sampled).Set("records", text.profile.records);
  event.Set("changed", text.changed).Set("dropped", text.dropped);
  for (const std::uint64_t count : text.profile.lengths) event.json()["lengths"].Append(count);
  for (std::size_t at = 0; at < kProfileClasses.size(); ++at)
    if (text.profile.characters[at] > 0)
      event.json()["characters"][kProfileClasses[at]] = text.profile.characters[at];
  std::string lines = event.Line();
  for (const SamplePair& pair : text.pairs) {
    Event shown("pair");
    shown.Set("stage", stage).Set("before", ToJson(pair.before));
    if (pair.after) shown.Set("after", ToJson(*pair.after));
    lines += shown.Line();
  }
  return lines;
}

Result<RunRecord> ParseRunRecord(std::string_view lines) {
  RunRecord record;
  bool begun = false;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::optional<Json> event = EventOf(lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    const std::string_view kind = event ? (*event)["event"].AsString() : std::string_view();
    if (!begun) {
      if (kind != "run" || !event->Has("record"))
        return Status(Code::kInvalidArgument, "it does not begin with an event `run`: no record of a run");
      if ((*event)["record"].AsInt() > kVersion)
        return Status(Code::kFailedPrecondition,
                      StrCat("written by a newer pipe: record version ", (*event)["record"].AsInt(),
                             ", this one reads ", kVersion));
      record.begin = BeginOf(*event);
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

}  // namespace pipeline
