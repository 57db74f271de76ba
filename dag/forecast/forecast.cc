#include "dag/forecast/forecast.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>

#include "dag/pipeline_file/stage_type.h"
#include "dag/pipeline_file/subset.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Returns the bytes of text per stored byte, as measured for Japanese web and book text (bench/).
double TextPerByte(std::string_view name) {
  if (name.ends_with(".xz") || name.ends_with(".zst")) return 4.5;
  if (name.ends_with(".gz")) return 3.2;
  return 1;
}

constexpr double kPublishedPerText = 1.12;            // framing and headers around lines of about 200 bytes
constexpr std::uint64_t kTextPerDocument = 16 << 10;  // a generous guess
constexpr std::uint64_t kFetchedAhead = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostPerShard = std::uint64_t{1} << 30;  // with `auto`, as in TFDS
constexpr double kIntermediatePerText = 1.25;  // the same with hash and origin of every record

class Forecaster {
 public:
  Forecaster(const Graph& graph, const Plan& plan, const Snapshot& snapshot, const RunOptions& options)
      : graph_(graph),
        plan_(plan),
        snapshot_(snapshot),
        groups_(std::max(options.threads, 2)),
        removes_outputs_(RemovesOutputs(options)) {}

  Forecast Make() {
    Forecast forecast;
    forecast.removes_outputs = removes_outputs_;
    forecast.input_memory_bytes = MemoryOfInputs(plan_);
    for (const PlannedSegment& segment : plan_.segments) {
      const SegmentForecast made = Of(segment);
      forecast.segments.push_back(made);
      forecast.peak_disk_bytes += made.fetched_bytes;
      if (!removes_outputs_)
        forecast.peak_disk_bytes +=
            made.intermediate_bytes + (IsRemote(segment.location) ? 0 : made.published_bytes);
      if (IsRemote(segment.location))
        forecast.spool_bytes = std::max(forecast.spool_bytes, SpoolOf(segment, made.published_bytes));
    }
    if (removes_outputs_) forecast.peak_disk_bytes += PeakOfOutputs(plan_, forecast.segments);
    forecast.peak_disk_bytes += forecast.spool_bytes;
    return forecast;
  }

 private:
  SegmentForecast Of(const PlannedSegment& segment) {
    SegmentForecast forecast;
    if (segment.state != PlannedSegment::State::kWanted) return forecast;
    const std::uint64_t text = TextOf(segment);
    if (segment.publishes && !segment.job) forecast.published_bytes = PublishedOf(segment, text);
    if (!segment.copy_from.empty()) return forecast;
    double left = 0;
    for (std::size_t input = 0; input < segment.outputs.inputs().size(); ++input) {
      const OutputsOfInput& outputs = segment.outputs.inputs()[input];
      if (!outputs.end) {
        left += 1;
      } else if (outputs.end->partitions > 0) {
        const auto missing = outputs.end->partitions - static_cast<std::uint32_t>(outputs.existing.size());
        forecast.partitions_left += missing;
        left += static_cast<double>(missing) / outputs.end->partitions;
      }
    }
    const double share =
        segment.outputs.inputs().empty() ? 1 : left / static_cast<double>(segment.outputs.inputs().size());
    forecast.text_bytes = Times(text, share);
    if (segment.job) return ForecastOfJob(text);
    const SinkKind* const sink = graph_[segment.node].spec->type->sink();
    const bool as_published = segment.publishes && sink != nullptr && sink->outputs_as_published;
    forecast.intermediate_bytes =
        Times(as_published ? forecast.published_bytes : text, share * kIntermediatePerText);
    if (const auto bytes = BarrierBytes(segment.node); bytes && segment.takes_in)
      forecast.intermediate_bytes =
          std::min(forecast.intermediate_bytes, Times(*bytes, kIntermediatePerText));
    forecast.read_bytes = !segment.files ? forecast.text_bytes : Times(StoredOf(segment), share > 0 ? 1 : 0);
    if (segment.files && share > 0) forecast.fetched_bytes = FetchedOf(segment);
    return forecast;
  }

  std::uint64_t PublishedOf(const PlannedSegment& segment, std::uint64_t text) const {
    const StageSpec& spec = *graph_[segment.node].spec;
    const SinkKind* const sink = spec.type->sink();
    return sink != nullptr && sink->published_bytes ? sink->published_bytes(spec.config, text)
                                                    : Times(text, kPublishedPerText);
  }

  /// Each group has up to three shards here: one is merged, one waits, one is uploaded.
  std::uint64_t SpoolOf(const PlannedSegment& segment, std::uint64_t published) const {
    const Json& config = graph_[segment.node].spec->config;
    const std::int64_t shards = config["shards"].AsInt(), bytes = config["shard_bytes"].AsInt();
    const std::uint64_t most = bytes > 0 ? static_cast<std::uint64_t>(bytes) : kMostPerShard;
    const std::uint64_t shard =
        shards > 0 ? published / static_cast<std::uint64_t>(shards) : std::min(published, most);
    return std::min(published, 3 * static_cast<std::uint64_t>(groups_) * shard);
  }

  /// Returns the bytes to download; a downloaded source stays until somebody cleans the work directory.
  std::uint64_t FetchedOf(const PlannedSegment& segment) {
    std::uint64_t bytes = 0;
    if (!fetched_.insert(FilesStage(segment).name).second) return bytes;  // another segment has counted them
    if (const auto files = snapshot_.files.find(FilesStage(segment).name); files != snapshot_.files.end())
      for (const SourceFile& file : files->second.files)
        if (IsRemote(file.input.path)) bytes += file.size - std::min(file.size, file.here);
    const StageSpec& reader = *graph_[segment.chain.front()].spec;
    const Result<Subset> subset = SubsetOf(reader.config);
    // If only the beginning is read, no more is downloaded than its text and the bytes that arrive meanwhile.
    if (subset.ok() && subset->is_beginning()) bytes = std::min(bytes, TextOf(segment) + kFetchedAhead);
    return bytes;
  }

  /// Returns the bytes of text that a barrier stage with a size of its own gives; it keeps about as many of
  /// those that it takes in. Absent: it is no such stage.
  std::optional<std::uint64_t> BarrierBytes(NodeId node) const {
    const StageSpec& spec = *graph_[node].spec;
    if (spec.type->barrier() == nullptr || !spec.config["bytes"].is_int()) return std::nullopt;
    return static_cast<std::uint64_t>(spec.config["bytes"].AsInt());
  }

  /// A Job reads all of its input, and its artifact is small in comparison.
  static SegmentForecast ForecastOfJob(std::uint64_t text) {
    SegmentForecast forecast;
    forecast.read_bytes = forecast.text_bytes = text;
    return forecast;
  }

  static std::uint64_t Times(std::uint64_t bytes, double factor) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * factor);
  }

  const StageSpec& FilesStage(const PlannedSegment& segment) const {
    const NodeId first = graph_.Lineage(segment.node).front();
    return *graph_[first].spec;
  }

  std::uint64_t StoredOf(const PlannedSegment& segment) const {
    const StageSpec& source = FilesStage(segment);
    std::uint64_t stored = 0;
    if (const auto files = snapshot_.files.find(source.name); files != snapshot_.files.end())
      for (const SourceFile& file : files->second.files) stored += file.size;
    return stored > 0 ? stored : static_cast<std::uint64_t>(source.config["size"].AsInt());
  }

  /// Returns the counted bytes of text; if there are no counts, the size that the pipeline file gives; if
  /// there is none, a guess from the names.
  std::uint64_t TextOf(const PlannedSegment& segment) const {
    std::uint64_t counted = 0;
    bool all = !segment.outputs.inputs().empty();
    for (const OutputsOfInput& input : segment.outputs.inputs()) {
      all = all && input.end;
      if (input.end) counted += input.end->raw_bytes;
    }
    if (all) return counted;
    for (const NodeId at : graph_.Lineage(segment.node))
      if (at != segment.node || !segment.takes_in)
        if (const auto bytes = BarrierBytes(at)) {
          const std::uint64_t before = TextBefore(segment);  // a sample is not larger than its input
          return before > 0 ? std::min(*bytes, before) : *bytes;
        }
    return TextBefore(segment);
  }

  /// Returns the bytes of text that the sources give, before a stage draws a sample from it. 0: unknown.
  std::uint64_t TextBefore(const PlannedSegment& segment) const {
    if (const auto mixed = MixedBytes(segment)) return *mixed;
    return InSubset(segment, AllTextOf(segment));
  }

  /// Returns the bytes of text of a mix, each input repeated as often as `epochs` allows. Absent: the segment
  /// begins with no mix.
  std::optional<std::uint64_t> MixedBytes(const PlannedSegment& segment) const {
    std::optional<std::uint64_t> bytes;
    const Node& first = graph_[graph_.Lineage(segment.node).front()];
    const Json::Array& epochs = first.spec->config["epochs"].AsArray();
    for (std::size_t at = 0; at < first.named_inputs.size(); ++at) {
      if (first.named_inputs[at].named_input->takes != Flow::kRecords || !first.named_inputs[at].node)
        continue;
      const PlannedSegment line(*first.named_inputs[at].node);
      const double times =
          at < epochs.size() ? std::strtod(std::string(epochs[at].AsString()).c_str(), nullptr) : 1;
      bytes = bytes.value_or(0) + Times(TextOf(line), times);
    }
    return bytes;
  }

  /// Returns the part of `bytes` that a trial reads; the length of a document is a guess.
  std::uint64_t InSubset(const PlannedSegment& segment, std::uint64_t bytes) const {
    for (const NodeId at : graph_.Lineage(segment.node)) {
      const StageSpec& spec = *graph_[at].spec;
      if (spec.type->source() == nullptr) continue;
      const Result<Subset> subset = SubsetOf(spec.config);
      if (!subset.ok()) continue;
      if (!subset->is_beginning())
        return Times(bytes, std::ldexp(static_cast<double>(subset->last_hash), -64));
      std::uint64_t files = 1;
      if (const auto found = snapshot_.files.find(FilesStage(segment).name); found != snapshot_.files.end())
        files = std::max<std::uint64_t>(found->second.files.size(), 1);
      return std::min(bytes,
                      files * std::min(subset->documents, bytes / kTextPerDocument + 1) * kTextPerDocument);
    }
    return bytes;
  }

  std::uint64_t AllTextOf(const PlannedSegment& segment) const {
    const StageSpec& source = FilesStage(segment);
    if (const auto told = static_cast<std::uint64_t>(source.config["text_size"].AsInt()); told > 0)
      return told;
    std::uint64_t guess = 0;
    if (const auto files = snapshot_.files.find(source.name); files != snapshot_.files.end())
      for (const SourceFile& file : files->second.files)
        guess += Times(file.size, TextPerByte(file.input.name));
    if (guess > 0 || !source.config["url"].is_array() || source.config["url"].AsArray().empty()) return guess;
    return Times(static_cast<std::uint64_t>(source.config["size"].AsInt()),
                 TextPerByte(source.config["url"].AsArray().front().AsString()));
  }

  const Graph& graph_;
  const Plan& plan_;
  const Snapshot& snapshot_;
  const int groups_;                    // groups of shards that are written at the same time
  const bool removes_outputs_;          // intermediates go as the run goes
  std::set<std::string_view> fetched_;  // stages whose files were counted
};

}  // namespace

Forecast ForecastOf(const Graph& graph, const Plan& plan, const Snapshot& snapshot,
                    const RunOptions& options) {
  return Forecaster(graph, plan, snapshot, options).Make();
}

}  // namespace pipeline
