#include "dag/input_bounds.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/fault_sample.h"
#include "dag/partition_counts.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

// A bound is checked from kTellingRecords records on, and at the end of the input. A few faulty records never
// break it.
constexpr std::uint64_t kTellingRecords = 100'000;
constexpr double kAlwaysAllowed = 20;

double Faults(const FaultBound& bound, const std::vector<Reason>& reasons, const StageCounts& counts) {
  double faults = 0;
  for (const std::string_view name : bound.reasons)
    if (const Reason* reason = FindReason(reasons, name)) faults += RecordsCounted(reasons, counts, *reason);
  return faults;
}

std::string ShareText(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", share);
  return text.data();
}

}  // namespace

std::string BrokenBound(const FaultBound& bound, const std::vector<Reason>& reasons,
                        const StageCounts& counts) {
  const double faults = Faults(bound, reasons, counts);
  const std::uint64_t records = RecordsTaken(reasons, counts);
  if (faults <= kAlwaysAllowed || faults <= bound.share * static_cast<double>(records)) return {};
  return StrCat(static_cast<std::uint64_t>(faults + 0.5), " of ", records, " ", bound.noun,
                "s"
                " are at fault, more than ",
                bound.key, " (", ShareText(bound.share), ") allows");
}

InputBounds::InputBounds(const SegmentScope& scope, std::uint32_t number, const std::string& file,
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
  RETURN_IF_ERROR(Check(0));
  return CheckColumns();
}

Status InputBounds::CheckColumns() const {
  for (const NeededColumn& column : scope_.assembly.source->needed()) {
    const auto absent = sum_.reasons.find(column.reason);
    if (absent == sum_.reasons.end()) continue;
    double seen = static_cast<double>(RecordsTaken(reasons_, sum_));
    for (const std::string_view name : column.unseen)
      if (const Reason* reason = FindReason(reasons_, name)) seen -= RecordsCounted(reasons_, sum_, *reason);
    if (static_cast<double>(absent->second) + 0.5 < seen) continue;
    std::string sample;
    (void)ReadQuarantine(*scope_.work, QuarantineName(scope_.chain.front(), {number_, 0}),
                         [&](const Quarantined& record) -> Status {
                           if (record.reason == column.reason) sample += StrCat(record.bytes, "\n");
                           return sample.size() < kFaultSampleBytes ? Status()
                                                                    : Status(Code::kCancelled, "enough");
                         });
    return Status(Code::kDataLoss,
                  StrCat(file_, ": no ", column.what, ", of ", absent->second, " ", column.noun,
                         absent->second == 1 ? ": " : "s: ", column.advice(sample)));
  }
  return {};
}

Status InputBounds::Advance() {
  for (auto found = ahead_.find(next_); found != ahead_.end(); found = ahead_.find(next_)) {
    for (std::size_t at = 0; at < bounds_.size(); ++at)
      if (first_[at] == 0 && Faults(bounds_[at], reasons_, found->second) > 0) first_[at] = next_ + 1;
    sum_ += found->second;
    ahead_.erase(found);
    ++next_;
    RETURN_IF_ERROR(Check(kTellingRecords));
  }
  return {};
}

Status InputBounds::Check(std::uint64_t least_records) {
  if (RecordsTaken(reasons_, sum_) < least_records) return {};
  for (std::size_t at = 0; at < bounds_.size(); ++at)
    if (const std::string broken = BrokenBound(bounds_[at], reasons_, sum_); !broken.empty())
      return Status(Code::kDataLoss, StrCat(file_, ": ", broken, FirstFault(bounds_[at], first_[at]),
                                            ", or raise ", bounds_[at].key, " if so many are right"));
  return {};
}

std::string InputBounds::FirstFault(const FaultBound& bound, std::uint32_t partition) const {
  constexpr std::string_view kRemedy = "; mend it";
  if (partition-- == 0) return std::string(kRemedy);
  std::optional<Quarantined> first;
  std::string sample;
  const std::string name = QuarantineName(scope_.chain.front(), {number_, partition});
  const Status found = Status(Code::kCancelled, "found");
  const Status read = ReadQuarantine(*scope_.work, name, [&](const Quarantined& record) -> Status {
    if (std::find(bound.reasons.begin(), bound.reasons.end(), record.reason) == bound.reasons.end())
      return {};
    if (!first) first = record;
    if (!bound.advice) return found;
    sample.append(record.bytes.substr(0, kFaultSampleBytes - sample.size())).append(1, '\n');
    return sample.size() < kFaultSampleBytes ? Status() : found;
  });
  const std::string remedy =
      bound.advice && first ? StrCat("; ", bound.advice(sample)) : std::string(kRemedy);
  if (!first)
    return StrCat(read.ok() || read.code() == Code::kNotFound ? "" : StrCat(" (", read.message(), ")"),
                  remedy);
  std::string which = StrCat("record ", first->index, " of partition ", partition);
  if (bound.is_row) {
    std::uint64_t before = 0;  // rows before the partition
    if (partition > 0)
      if (const UnitLine* line = scope_.environment->log->FindDone(
              ToString(UnitId{scope_.planned->keys.stage, PartitionId{number_, partition - 1}})))
        before = line->end.document_end;
    which = StrCat(bound.noun, " ", before + first->index);
  }
  return StrCat("; the first is ", which, " (from 0), ", first->reason, ": ", Shown(*first, kShownFaultBytes),
                "; all are in ", name.substr(0, name.rfind('/')), " of the work directory", remedy);
}

}  // namespace pipeline
