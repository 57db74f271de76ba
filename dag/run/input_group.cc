#include "dag/run/input_group.h"

#include <utility>

#include "base/commit_point.h"

namespace pipeline {

namespace {

/// The failure of the log, for the first input that hears of it: it ends the run, and needs one line.
Status Once(Status& failure) {
  if (failure.ok()) return {};
  return std::exchange(failure, Status(Code::kCancelled, "stopped after a failure"));
}

}  // namespace

InputGroup::InputGroup(RunLog& log, Store& directory, Store& work, std::size_t most_objects)
    : log_(log),
      most_objects_(most_objects),
      directory_(objects_.Join(directory)),
      work_(objects_.Join(work)) {}

Status InputGroup::Hold(Partition partition) {
  reading_.partitions.push_back({std::move(partition), objects_.size(), {}});
  return objects_.size() < most_objects_ ? Status() : Flush();
}

void InputGroup::End(UnitLine line, std::function<void(Status)> settled) {
  reading_.end = std::move(line);
  reading_.settled = std::move(settled);
  ended_.push_back(std::exchange(reading_, {}));
}

Status InputGroup::Flush() {
  std::vector<Status> committed = objects_.Commit();
  std::vector<Input> inputs = std::exchange(ended_, {});
  inputs.push_back(std::exchange(reading_, {}));
  for (Input& input : inputs)
    for (Held& held : input.partitions)
      for (std::size_t at = held.partition.first_object; at < held.end_object; ++at)
        if (held.outcome.ok()) held.outcome = std::move(committed[at]);
  LogPartitions(inputs);
  LogEnds(inputs);
  for (const Input& input : inputs)
    if (input.settled) input.settled(input.outcome);
  return std::move(inputs.back().outcome);
}

void InputGroup::LogPartitions(std::vector<Input>& inputs) {
  std::vector<UnitLine> lines;
  for (Input& input : inputs)
    for (Held& held : input.partitions) {
      if (!held.outcome.ok()) continue;
      PassCommitPoint("partition.committed");
      lines.push_back(std::move(held.partition.line));
    }
  Status logged = log_.Append(lines);
  for (Input& input : inputs)
    for (Held& held : input.partitions) {
      Status outcome;
      if (!held.outcome.ok()) {
        outcome = held.partition.failed(held.outcome);
      } else if (!logged.ok()) {
        if (input.outcome.ok()) outcome = Once(logged);
      } else {
        PassCommitPoint("partition.logged");
        held.partition.logged();
      }
      if (input.outcome.ok()) input.outcome = std::move(outcome);
    }
}

void InputGroup::LogEnds(std::vector<Input>& inputs) {
  std::vector<UnitLine> lines;
  for (const Input& input : inputs) {
    if (!input.end || !input.outcome.ok()) continue;
    PassCommitPoint("input.ended");
    lines.push_back(*input.end);
  }
  Status logged = log_.Append(lines);
  for (Input& input : inputs)
    if (input.end && input.outcome.ok()) input.outcome = Once(logged);
}

}  // namespace pipeline
