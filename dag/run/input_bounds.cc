#include "dag/run/input_bounds.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/partition_counts.h"
#include "dag/run/unit_lines.h"

namespace pipeline {

namespace {

// A bound is checked from kTellingRecords records on, and at the end of the input.
constexpr std::uint64_t kTellingRecords = 100'000;

/// A column is told if one record of so many lacks it, as FaultShare tells faults.
constexpr std::uint64_t kTellingShare = 10;

/// Files that the last lines of a run name, of one stage.
constexpr std::size_t kMostTold = 3;

/// The faults of a bound in the quarantine of one partition.
struct FaultSample {
  std::optional<Quarantined> first;
  std::string of_main_reason;  // for FaultBound::advice
  Status read;
};

FaultSample SampleFaults(const SegmentScope& scope, PartitionId id, const FaultBound& bound,
                         std::string_view main_reason) {
  FaultSample sample;
  const Status found = Status(Code::kCancelled, "found");
  const auto take = [&](const Quarantined& record) -> Status {
    if (std::find(bound.reasons.begin(), bound.reasons.end(), record.reason) == bound.reasons.end())
      return {};
    if (!sample.first) sample.first = record;
    if (!bound.advice) return found;
    if (!main_reason.ends_with(record.reason)) return {};  // which may be "dropped_" and the reason
    std::string& text = sample.of_main_reason;
    text.append(record.bytes.substr(0, kFaultSampleBytes - text.size())).append(1, '\n');
    return text.size() < kFaultSampleBytes ? Status() : found;
  };
  sample.read = ReadQuarantine(*scope.work, QuarantineName(scope.chain.front(), id), take);
  return sample;
}

/// Returns ": they have title, body", the columns of records of an input that lack this one. Empty: none is
/// among those that the quarantine shows.
std::string AdviceAbout(const NeededColumn& column, const SegmentScope& scope, std::uint32_t input) {
  std::string sample;
  (void)ReadQuarantine(
      *scope.work, QuarantineName(scope.chain.front(), {input, 0}), [&](const Quarantined& record) -> Status {
        if (record.reason == column.reason) sample += StrCat(record.bytes, "\n");
        return sample.size() < kFaultSampleBytes ? Status() : Status(Code::kCancelled, "enough");
      });
  return sample.empty() ? std::string() : StrCat(": ", column.advice(sample));
}

/// The directory of the Source's quarantine, below the work directory.
std::string QuarantineDirectory(const SegmentScope& scope) {
  const std::string name = QuarantineName(scope.chain.front(), {});
  return name.substr(0, name.rfind('/'));
}

/// Tells what of a Source's inputs is at fault.
class FaultTeller {
 public:
  FaultTeller(const SegmentScope& scope, const std::vector<SourceFile>& files)
      : scope_(scope),
        files_(files),
        reasons_(scope.assembly.types.front()->reasons),
        counts_(*scope.environment->log),
        told_(scope.assembly.source->bounds().size()) {}

  std::vector<std::string> Tell() {
    const std::vector<FaultBound> bounds = scope_.assembly.source->bounds();
    const auto inputs = static_cast<std::uint32_t>(files_.size());
    StageCounts all;
    for (std::uint32_t input = 0; input < inputs; ++input) {
      const StageCounts counts = CountsOf(input);
      for (std::size_t at = 0; at < bounds.size(); ++at)
        if (FaultShare(bounds[at], reasons_, counts).IsTold() && ++told_[at] <= kMostTold)
          lines_.push_back(Line(bounds[at], counts, StrCat(files_[input].input.name, ": "), input));
      TellColumns(counts, input);
      all += counts;
    }
    for (std::size_t at = 0; at < bounds.size(); ++at) {
      if (told_[at] > kMostTold)
        lines_.push_back(
            StrCat("the same holds of ", told_[at] - kMostTold, " more files (", bounds[at].key, ")"));
      if (inputs > 1 && FaultShare(bounds[at], reasons_, all).IsTold())
        lines_.push_back(Line(bounds[at], all, StrCat("of all ", inputs, " files together "), {}));
    }
    return std::move(lines_);
  }

 private:
  /// Tells the columns that many records lack. A Source with one column tells so by a bound.
  void TellColumns(const StageCounts& counts, std::uint32_t input) {
    const std::vector<NeededColumn> columns = scope_.assembly.source->needed();
    const std::uint64_t records = RecordsTaken(reasons_, counts);
    for (const NeededColumn& column : columns) {
      const auto absent = counts.reasons.find(column.reason);
      if (columns.size() < 2 || absent == counts.reasons.end() || absent->second * kTellingShare < records)
        continue;
      if (++columns_told_ > kMostTold) return;
      lines_.push_back(StrCat(files_[input].input.name, ": ", absent->second, " of ", records, " ",
                              column.noun, "s have no ", column.column, AdviceAbout(column, scope_, input)));
    }
  }

  StageCounts CountsOf(std::uint32_t input) {
    const OutputKeys& keys = scope_.planned->keys;
    PartitionCounts::ByStage counts;
    if (const UnitLine* const end = FindEnd(*scope_.environment->log, keys, input))
      for (std::uint32_t partition = 0; partition < end->partitions; ++partition)
        (void)counts_.Add(keys, {input, partition}, counts);
    return counts[scope_.assembly.stages.front()];
  }

  /// `input`: of the sample for the advice. Absent: it is left out.
  std::string Line(const FaultBound& bound, const StageCounts& counts, std::string_view of,
                   std::optional<std::uint32_t> input) {
    const FaultShare share(bound, reasons_, counts);
    std::string which;
    bool left_out = true;
    for (const std::string_view name : bound.reasons) {
      if (!counts.reasons.contains(name)) continue;
      which += StrCat(which.empty() ? "" : ", ", name);
      left_out = left_out && FindReason(reasons_, name)->fate == Reason::Fate::kDropped;
    }
    return StrCat(
        of, share.Told(), left_out ? " left out: " : " read with damage: ", which,
        input ? FirstOf(bound, share.main_reason(), *input) : "", "; they are in ",
        (std::filesystem::path(scope_.environment->artifacts).parent_path() / QuarantineDirectory(scope_))
            .string());
  }

  /// Returns " (advice); the first is line 12".
  std::string FirstOf(const FaultBound& bound, std::string_view reason, std::uint32_t input) const {
    const UnitLine* const end = FindEnd(*scope_.environment->log, scope_.planned->keys, input);
    for (std::uint32_t partition = 0; end != nullptr && partition < end->partitions; ++partition) {
      const FaultSample sample = SampleFaults(scope_, {input, partition}, bound, reason);
      if (!sample.first) continue;
      const std::string advice = bound.advice ? bound.advice(reason, sample.of_main_reason) : "";
      return StrCat(advice.empty() ? "" : StrCat(" (", advice, ")"), "; the first is ",
                    PlaceOf(scope_, files_[input], {input, partition}, sample.first->index, {}));
    }
    return {};
  }

  const SegmentScope& scope_;
  const std::vector<SourceFile>& files_;
  const std::vector<Reason>& reasons_;
  PartitionCounts counts_;
  std::vector<std::size_t> told_;  // by bound: number of inputs
  std::size_t columns_told_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

InputBounds::InputBounds(const SegmentScope& scope, std::uint32_t number, const SourceFile& file,
                         const OutputsOfInput& made)
    : scope_(scope),
      number_(number),
      file_(file),
      made_(made),
      bounds_(scope.assembly.source->bounds()),
      reasons_(scope.assembly.types.front()->reasons),
      first_(bounds_.size()) {}

Status InputBounds::Begin() {
  if (bounds_.empty()) return {};
  const std::string& source = scope_.assembly.stages.front();
  PartitionCounts names(*scope_.environment->log);
  for (const auto& [partition, existing] : made_.existing) {
    const UnitLine* const found = scope_.environment->log->FindDone(
        ToString(UnitId{scope_.planned->keys.stage, PartitionId{number_, partition}}));
    if (found == nullptr) continue;
    UnitLine line = *found;
    names.Rename(scope_.planned->lineage, line);
    if (const auto counts = line.counts.find(source); counts != line.counts.end())
      ahead_.insert_or_assign(partition, counts->second);
  }
  return Advance();
}

Status InputBounds::Take(std::uint32_t partition, const StageCounts& counts) {
  if (bounds_.empty()) return {};
  ahead_.insert_or_assign(partition, counts);
  return Advance();
}

Status InputBounds::End(std::uint32_t partitions) {
  if (next_ != partitions) return {};
  RETURN_IF_ERROR(Check(0, false));
  RETURN_IF_ERROR(CheckColumns());
  return Check(0);
}

Status InputBounds::CheckColumns() const {
  for (const NeededColumn& column : scope_.assembly.source->needed()) {
    const auto absent = sum_.reasons.find(column.reason);
    if (absent == sum_.reasons.end()) continue;
    double seen = static_cast<double>(RecordsTaken(reasons_, sum_));
    for (const std::string_view name : column.unseen)
      if (const Reason* reason = FindReason(reasons_, name)) seen -= RecordsCounted(reasons_, sum_, *reason);
    if (static_cast<double>(absent->second) + 0.5 < seen) continue;
    return Status(
        Code::kDataLoss,
        StrCat(file_.input.name, ": no ", column.noun, " has a ", column.column, ", of ", absent->second, " ",
               column.noun, absent->second == 1 ? "" : "s", AdviceAbout(column, scope_, number_)));
  }
  return {};
}

Status InputBounds::Advance() {
  for (auto found = ahead_.find(next_); found != ahead_.end(); found = ahead_.find(next_)) {
    for (std::size_t at = 0; at < bounds_.size(); ++at)
      if (first_[at] == 0 && FaultShare(bounds_[at], reasons_, found->second).any()) first_[at] = next_ + 1;
    sum_ += found->second;
    ahead_.erase(found);
    ++next_;
    RETURN_IF_ERROR(Check(kTellingRecords));
  }
  return {};
}

Status InputBounds::Check(std::uint64_t least_records, bool lacking) {
  if (RecordsTaken(reasons_, sum_) < least_records) return {};
  for (std::size_t at = 0; at < bounds_.size(); ++at) {
    const FaultShare share(bounds_[at], reasons_, sum_);
    if (!share.IsBroken() || (!lacking && !bounds_[at].lacks.empty())) continue;
    // One record is no share of anything if there are others: all inputs together are checked.
    if (bounds_[at].is_row && share.records() == 1 && scope_.planned->keys.end_recipes.size() > 1) continue;
    return Status(Code::kDataLoss,
                  StrCat(file_.input.name, ": ", share.Broken(), FirstFault(bounds_[at], first_[at], share)));
  }
  return {};
}

std::string InputBounds::FirstFault(const FaultBound& bound, std::uint32_t partition,
                                    const FaultShare& share) const {
  constexpr std::string_view kMend = "; mend it";
  if (partition-- == 0) return StrCat(kMend, share.OrRaise());
  const FaultSample sample = SampleFaults(scope_, {number_, partition}, bound, share.main_reason());
  const std::optional<Quarantined>& first = sample.first;
  const std::string remedy =
      StrCat(bound.advice && first ? StrCat("; ", bound.advice(share.main_reason(), sample.of_main_reason))
                                   : std::string(kMend),
             share.OrRaise());
  if (!first)
    return StrCat(sample.read.ok() || sample.read.code() == Code::kNotFound
                      ? ""
                      : StrCat(" (", sample.read.message(), ")"),
                  remedy);
  return StrCat("; the first is ", PlaceOf(scope_, file_, {number_, partition}, first->index, {}), ", ",
                first->reason, ": ", Shown(*first, kShownFaultBytes), remedy, "; all are in ",
                QuarantineDirectory(scope_), " of the work directory");
}

std::vector<std::string> TellFaults(const SegmentScope& scope, const std::vector<SourceFile>& files) {
  if (scope.assembly.source == nullptr || scope.assembly.source->bounds().empty()) return {};
  return FaultTeller(scope, files).Tell();
}

}  // namespace pipeline
