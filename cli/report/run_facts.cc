#include "cli/report/run_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/report/length_loss.h"
#include "cli/terminal/command_line.h"
#include "dag/books/quarantine.h"
#include "dag/books/unit_id.h"
#include "dag/books/work_dir.h"
#include "dag/pipeline_file/stage_type.h"
#include "storage/uri.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kExamplesPerReason = 3;
constexpr std::size_t kExampleBytes = 240;
constexpr std::size_t kQuarantineObjects = 16;    // read per stage
constexpr std::size_t kQuarantineRecords = 4096;  // of each

/// Returns the path from `directory` to the artifact at `location`. Empty: it is not on this machine.
std::string LinkTo(const std::string& location, const std::string& directory) {
  const Result<Uri> uri = Uri::Parse(location);
  if (!uri.ok() || !uri->is_local()) return {};
  std::error_code error;
  const std::filesystem::path from = std::filesystem::absolute(directory, error);
  const std::filesystem::path to = std::filesystem::absolute(uri->path, error);
  if (error) return {};
  return to.lexically_normal().lexically_relative(from.lexically_normal()).string();
}

/// Returns the stages whose records or artifacts `node` reads, each once.
std::vector<std::string> InputsOf(const Graph& graph, const Node& node) {
  std::vector<std::string> inputs;
  const auto add = [&](std::optional<NodeId> from) {
    if (!from) return;
    const std::string& name = graph[*from].spec->name;
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) inputs.push_back(name);
  };
  add(node.input);
  // An inherited named input is not listed, because it comes along the line of stages.
  const std::vector<NamedInputSpec>& given = node.spec->named_inputs;
  for (const NamedInputEdge& edge : node.named_inputs)
    if (std::any_of(given.begin(), given.end(), [&](const NamedInputSpec& named_input) {
          return named_input.named_input == edge.named_input;
        }))
      add(edge.node);
  return inputs;
}

/// Returns the location at which the stage of `node` publishes. Empty: the stage names none, and `plan` has
/// no segment of it.
std::string LocationIn(const Plan& plan, const Graph& graph, const Node& node) {
  std::string location = LocationOfStage(*node.spec);
  for (const PlannedSegment& segment : plan.segments)
    if (location.empty() && segment.publishes && &graph[segment.node] == &node) location = segment.location;
  return location;
}

/// Returns the nodes that a segment runs, or the nodes that made its artifact.
std::vector<NodeId> NodesOf(const Graph& graph, const PlannedSegment& segment) {
  std::vector<NodeId> nodes = segment.chain.empty() ? graph.Lineage(segment.node) : segment.chain;
  if (segment.files) nodes.push_back(*segment.files);
  return nodes;
}

void Place(const PlannedSegment& segment, RecordedStage& stage) {
  stage.state = StateText(segment);
  stage.segment = segment.keys.stage;
  stage.outputs = segment.directory;
  for (const LineageStage& made : segment.output_lineage)
    if (made.stage == stage.name)
      stage.quarantine = StrCat("quarantine/", WorkDir::ArtifactName(made.stage, made.recipe));
}

/// Returns `bytes` as text that can be shown; bytes that are no UTF-8 become \xNN.
std::string Legible(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t clean = CleanUtf8Prefix(bytes);
    text += bytes.substr(0, clean);
    bytes.remove_prefix(clean);
    if (bytes.empty()) break;
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(bytes.front());
    text += StrCat("\\x", kDigits[byte >> 4], kDigits[byte & 15]);
    bytes.remove_prefix(1);
  }
  return text;
}

RecordedExample ExampleOf(const std::string& stage, const Quarantined& record) {
  const std::string_view front = Utf8Front(record.bytes, kExampleBytes);
  return {stage, record.reason, Legible(front), front.size() < record.bytes.size()};
}

/// Adds the first kExamplesPerReason records of each reason in the quarantine of `stage`.
void AddExamples(Store& work, const RecordedStage& stage, std::vector<RecordedExample>& examples) {
  const Result<std::vector<ObjectInfo>> objects = work.List(stage.quarantine + "/");
  if (!objects.ok()) return;
  std::map<std::string, std::size_t> taken;
  std::size_t looked_into = 0;
  for (const ObjectInfo& object : *objects) {
    if (++looked_into > kQuarantineObjects) return;
    std::size_t read = 0;
    // It may end early: enough records were seen, or the object is incomplete or damaged and gives fewer.
    (void)ReadQuarantine(work, object.name, [&](const Quarantined& record) -> Status {
      if (++read > kQuarantineRecords) return Status(Code::kCancelled, "enough was seen");
      if (taken[record.reason]++ < kExamplesPerReason) examples.push_back(ExampleOf(stage.name, record));
      return {};
    });
  }
}

/// Adds up the log lines of one segment.
class SegmentSums {
 public:
  SegmentSums(const std::string& segment, RunRecord& record) : segment_(segment), record_(record) {
    for (const RecordedStage& stage : record.stages) {
      if (stage.segment != segment) continue;
      members_.insert(stage.name);
      if (stage.name == segment) last_ = &stage;
    }
  }

  void Add(const UnitLine& line) {
    const std::optional<UnitId> unit = ParseUnitId(line.unit);
    if (!unit || last_ == nullptr) return;
    if (line.state == UnitState::kEnd) AddCounts(line);
    if (line.state != UnitState::kDone) return;
    if (std::holds_alternative<PartitionId>(unit->part) && line.location == last_->outputs)
      AddPartition(line);
    if (std::holds_alternative<ShardId>(unit->part) && WithoutSecret(line.location) == last_->location)
      AddShard(line);
  }

 private:
  void AddCounts(const UnitLine& line) {
    for (const auto& [stage, counts] : line.counts)
      if (members_.contains(stage)) record_.counts[stage].counts += counts;
  }
  void AddPartition(const UnitLine& line) {
    AddCounts(line);
    RecordedCounts& mine = record_.counts[segment_];
    ++mine.partitions;
    for (const auto& [name, split] : line.splits) {
      ArtifactTotals::Split& sum = mine.splits[name];
      sum.records += split.records;
      sum.documents += split.documents;
      sum.bytes += split.bytes;
    }
  }
  void AddShard(const UnitLine& line) {
    RecordedCounts& mine = record_.counts[segment_];
    ++mine.shards;
    mine.shard_bytes += BytesOf(line.objects);
  }

  const std::string& segment_;
  RunRecord& record_;
  std::set<std::string, std::less<>> members_;
  const RecordedStage* last_ = nullptr;
};

std::string FateName(const Reason& reason) {
  if (reason.of == Reason::Of::kOther || reason.of == Reason::Of::kDocuments) return "tally";
  if (reason.fate == Reason::Fate::kDropped) return "dropped";
  return reason.fate == Reason::Fate::kNotMeant ? "not meant" : "stays";
}

const LineageStage* Find(const Lineage& lineage, const std::string& stage) {
  for (const LineageStage& made : lineage)
    if (made.stage == stage) return &made;
  return nullptr;
}

/// Returns the entry of `stage` in the plan: in a segment that runs, otherwise in another segment.
const LineageStage* MadeBy(const Plan& plan, const std::string& stage) {
  for (const bool wanted : {true, false})
    for (const PlannedSegment& segment : plan.segments)
      if ((segment.state == PlannedSegment::State::kWanted) == wanted)
        if (const LineageStage* made = Find(segment.lineage, stage)) return made;
  return nullptr;
}

/// Fills in how the stage is made: its configuration without `secrets`, versions, recipe, sources with
/// digests.
void AddRecipe(const StageSpec& spec, const Plan& plan, const std::vector<std::string>& secrets,
               RecordedStage& stage) {
  stage.version = spec.type->version;
  stage.config = Hidden(spec.config, secrets);
  stage.libraries = spec.type->LibrariesOf(spec.config);
  for (const Reason& reason : spec.type->reasons) stage.reasons.emplace(reason.name, FateName(reason));
  const LineageStage* made = MadeBy(plan, stage.name);
  if (made == nullptr) return;
  stage.recipe = made->recipe.ToHex();
  stage.libraries.insert(made->libraries.begin(), made->libraries.end());
  for (const auto& [name, digest] : made->sources)
    stage.sources.emplace_back(HiddenText(name, secrets), HiddenText(digest, secrets));
  for (const LineageInput& named_input : made->named_inputs)
    stage.sources.emplace_back(
        StrCat(named_input.name,
               named_input.file.empty() ? "" : StrCat(" ", HiddenText(named_input.file, secrets))),
        named_input.digest.ToHex());
}

/// Inputs precede their readers. `directory`: of the record; links are relative to it.
std::vector<RecordedStage> StagesOf(const Graph& graph, const Plan& plan, const Snapshot& snapshot,
                                    const std::vector<std::string>& secrets, const std::string& directory) {
  std::vector<RecordedStage> stages;
  for (const Node& node : graph.nodes()) {
    RecordedStage stage;
    stage.name = node.spec->name;
    stage.type = std::string(node.spec->type->name);
    stage.inputs = InputsOf(graph, node);
    if (node.spec->type->publishes()) {
      const std::string location = LocationIn(plan, graph, node);
      stage.location = WithoutSecret(location);
      stage.link = LinkTo(location, directory);
      stage.longest_line = LongestLineOf(stage.type, node.spec->config, node.in);
    }
    if (const auto files = snapshot.files.find(stage.name); files != snapshot.files.end()) {
      stage.files = files->second.files.size();
      for (const SourceFile& file : files->second.files) stage.file_bytes += file.size;
    }
    if (const auto vanished = plan.vanished.find(stage.name); vanished != plan.vanished.end())
      stage.vanished = vanished->second;
    AddRecipe(*node.spec, plan, secrets, stage);
    stages.push_back(std::move(stage));
  }
  // A stage may be in several segments: one that runs goes before one that only exists.
  for (const bool wanted : {true, false}) {
    for (const PlannedSegment& segment : plan.segments) {
      if ((segment.state == PlannedSegment::State::kWanted) != wanted) continue;
      for (const NodeId node : NodesOf(graph, segment)) {
        RecordedStage& stage = stages[node.index()];
        if (stage.segment.empty()) Place(segment, stage);
      }
    }
  }
  return stages;
}

/// Fills in the machine and the library versions that affect results.
void DescribeMachine(const Graph& graph, RecordedBegin& begin) {
  begin.version = PIPE_VERSION;
  for (const Node& node : graph.nodes())
    begin.libraries.merge(node.spec->type->LibrariesOf(node.spec->config));
  begin.cores = std::thread::hardware_concurrency();
  begin.memory = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                 static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
  utsname system{};
  if (uname(&system) == 0) begin.system = StrCat(system.sysname, " ", system.release, " ", system.machine);
}

/// Returns the counts that manifests hold about existing publications, by stage. A run that made nothing for
/// such a publication has no lines about it in its plan.
std::map<std::string, RecordedCounts> ExistingCounts(const Plan& plan, const Snapshot& snapshot) {
  std::map<std::string, RecordedCounts> existing;
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kUpToDate || !segment.publishes) continue;
    const auto published = snapshot.published.find(segment.keys.stage);
    if (published == snapshot.published.end() || !published->second.manifest) continue;
    const Manifest& manifest = *published->second.manifest;
    if (manifest.recipe() != segment.recipe()) continue;
    for (const auto& [stage, counts] : manifest.counts) existing[stage].counts = counts;
    if (manifest.shards.empty()) continue;
    RecordedCounts& last = existing[segment.keys.stage];
    last.splits = manifest.splits;
    last.shards = manifest.shards.size();
    last.shard_bytes = 0;
    for (const ManifestShard& shard : manifest.shards) last.shard_bytes += shard.object.bytes;
  }
  return existing;
}

}  // namespace

std::string_view StateText(const PlannedSegment& segment) {
  switch (segment.state) {
    case PlannedSegment::State::kUpToDate: return "up to date";
    case PlannedSegment::State::kNotSelected: return "not selected";
    case PlannedSegment::State::kWanted: break;
  }
  return segment.copy_from.empty() ? "run" : "copy";
}

RunRecord DescribeRun(const RunLine& line, const LoadedPipeline& loaded, const Plan& plan,
                      const Snapshot& snapshot, const RunOptions& options, const std::string& directory) {
  RunRecord record;
  record.begin.id = line.id;
  record.begin.pipeline = loaded.spec.name;
  record.begin.command = line.command;
  record.begin.started = line.started;
  record.begin.threads = static_cast<std::uint64_t>(options.threads);
  record.begin.memory_limit = options.memory_bytes;
  DescribeMachine(loaded.graph, record.begin);
  record.stages = StagesOf(loaded.graph, plan, snapshot, SecretsIn(loaded.spec.variables), directory);
  record.counts = ExistingCounts(plan, snapshot);
  return record;
}

void AddOutcome(const RunLog& log, Store& work, RunRecord& record) {
  const std::map<std::string, RecordedCounts> existing = std::exchange(record.counts, {});
  std::set<std::string> segments;
  for (const RecordedStage& stage : record.stages) {
    if (!stage.segment.empty()) segments.insert(stage.segment);
    if (!stage.quarantine.empty()) AddExamples(work, stage, record.examples);
  }
  for (const std::string& segment : segments) {
    SegmentSums sums(segment, record);
    for (const UnitLine* line : log.List(segment + "/")) sums.Add(*line);
  }
  for (const auto& [stage, from] : existing) {
    RecordedCounts& counts = record.counts[stage];
    if (counts.counts == StageCounts()) counts.counts = from.counts;
    if (counts.splits.empty()) counts.splits = from.splits;
    if (counts.shards == 0) counts.shards = from.shards, counts.shard_bytes = from.shard_bytes;
  }
}

namespace {

// Shorter secrets, such as "1", are not replaced in a text, because other text has them too.
constexpr std::size_t kShortestSecret = 4;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void Replace(std::string& text, const std::string& what) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += kHiddenValue.size())
    text.replace(at, what.size(), kHiddenValue);
}

/// Hides secrets in NAME=VALUE and in URLs, as in the words of a command.
std::string WithoutNamed(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && text.find("://") > equals && IsSecretName(text.substr(0, equals)))
    return StrCat(text.substr(0, equals + 1), kHiddenValue);
  return WithoutSecret(text);
}

}  // namespace

std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : variables)
    if (!value.empty() && (name.starts_with("env:") || IsSecretName(name))) secrets.push_back(value);
  // The longest come first, because one may be the beginning of another.
  std::sort(secrets.begin(), secrets.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return secrets;
}

std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets) {
  std::string shown(text);
  for (const std::string& secret : secrets) {
    if (shown == secret) return std::string(kHiddenValue);
    if (secret.size() >= kShortestSecret) Replace(shown, secret);
  }
  const std::string lower = Lower(shown);
  for (const std::string_view mark : {"authorization:", "bearer "})
    if (const std::size_t at = lower.find(mark); at != std::string::npos)
      return StrCat(shown.substr(0, at + mark.size()), kHiddenValue);
  return WithoutNamed(shown);
}

Json Hidden(const Json& config, const std::vector<std::string>& secrets) {
  if (config.is_string()) return Json(HiddenText(config.AsString(), secrets));
  if (config.is_array()) {
    Json shown = Json::Array{};
    for (const Json& element : config.AsArray()) shown.Append(Hidden(element, secrets));
    return shown;
  }
  if (config.is_object()) {
    Json shown = Json::Object{};
    for (const auto& [name, value] : config.AsObject())
      shown[name] = value.is_string() && IsSecretName(name) ? Json(kHiddenValue) : Hidden(value, secrets);
    return shown;
  }
  const std::string text = config.is_null() ? std::string() : config.Dump();
  const bool secret =
      text.size() >= kShortestSecret && std::find(secrets.begin(), secrets.end(), text) != secrets.end();
  return secret ? Json(kHiddenValue) : config;
}

}  // namespace pipeline
