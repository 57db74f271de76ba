#include "plugins/train/rows/fetch_planner.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pipeline {

namespace {

constexpr std::uint64_t kInOrderAhead = 16;  // blocks

}  // namespace

FetchPlanner::FetchPlanner(const RowBlocks& blocks, std::uint64_t seed, std::uint64_t room)
    : blocks_(blocks),
      room_(room),
      states_(blocks.count(), State::kAbsent),
      is_wanted_(blocks.count(), false) {
  pipe_sample_order_start(&order_, blocks.rows(), seed);
}

void FetchPlanner::Want(std::int64_t worker, const RowDemand& demand) {
  demands_[worker] = demand;
  Plan();
}

template <class Take>
std::uint64_t FetchPlanner::ForWindow(std::uint64_t sample, bool& fits, const Take& take) {
  std::uint64_t blocks[kPipeWindowBlocks] = {}, end = 0;
  const std::uint64_t count = pipe_sample_order_window(&order_, sample, blocks, &end);
  for (std::uint64_t at = 0; fits && at < count; ++at) fits = take(blocks[at]);
  return end;
}

void FetchPlanner::Plan() {
  has_changed_ = true;
  wanted_.clear();
  is_wanted_.assign(blocks_.count(), false);
  next_ = 0;
  std::vector<RowDemand> demands;
  for (const auto& [worker, demand] : demands_) demands.push_back(demand);
  std::sort(demands.begin(), demands.end(), [](const RowDemand& one, const RowDemand& other) {
    return std::tie(one.shuffled, one.sample) < std::tie(other.shuffled, other.sample);
  });
  std::uint64_t bytes = 0;
  bool fits = true;
  const auto take = [&](std::uint64_t block) {
    if (is_wanted_[block]) return true;
    bytes += blocks_.BytesOf(block);
    if (bytes > room_) return false;
    is_wanted_[block] = true;
    wanted_.push_back(block);
    return true;
  };
  const auto block_of = [](const RowDemand& demand) { return demand.sample / kPipeBlockRows; };
  // First what the workers read now.
  for (const RowDemand& demand : demands)
    if (!demand.reading)
      continue;
    else if (demand.shuffled)
      ForWindow(demand.sample, fits, take);
    else if (fits && block_of(demand) < blocks_.count())
      fits = take(block_of(demand));
  for (const RowDemand& demand : demands) {
    if (demand.shuffled) continue;
    const std::uint64_t end = std::min(block_of(demand) + kInOrderAhead, blocks_.count());
    for (std::uint64_t block = block_of(demand); fits && block < end; ++block) fits = take(block);
  }
  const auto first =
      std::find_if(demands.begin(), demands.end(), [](const RowDemand& demand) { return demand.shuffled; });
  if (first == demands.end()) return;
  for (std::uint64_t sample = first->sample; fits && wanted_.size() < blocks_.count();)
    sample = ForWindow(sample, fits, take);
}

bool FetchPlanner::Found(std::uint64_t block) {
  if (held_ + blocks_.BytesOf(block) > room_) return false;
  held_ += blocks_.BytesOf(block);
  states_[block] = State::kHere;
  return true;
}

void FetchPlanner::Drop(std::uint64_t block) {
  states_[block] = State::kAbsent;
  held_ -= blocks_.BytesOf(block);
  next_ = 0;
}

std::vector<std::uint64_t> FetchPlanner::TakeUnwanted() {
  std::vector<std::uint64_t> unwanted;
  if (!std::exchange(has_changed_, false)) return unwanted;
  for (std::uint64_t block = 0; block < states_.size(); ++block)
    if (states_[block] == State::kHere && !is_wanted_[block]) unwanted.push_back(block);
  for (const std::uint64_t block : unwanted) Drop(block);
  return unwanted;
}

std::optional<std::uint64_t> FetchPlanner::StartNext() {
  if (demands_.empty()) return {};
  while (next_ < wanted_.size() && states_[wanted_[next_]] != State::kAbsent) ++next_;
  if (next_ == wanted_.size()) return {};
  const std::uint64_t block = wanted_[next_];
  // Blocks that arrive though they are not wanted any more take room until then.
  if (held_ + blocks_.BytesOf(block) > room_) return {};
  held_ += blocks_.BytesOf(block);
  states_[block] = State::kArriving;
  return block;
}

bool FetchPlanner::Arrived(std::uint64_t block) {
  if (!is_wanted_[block] && !demands_.empty()) {
    Drop(block);
    return false;
  }
  states_[block] = State::kHere;
  return true;
}

}  // namespace pipeline
