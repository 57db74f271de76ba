#include "stages/shards/spill_merger.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/str.h"
#include "dag/records/partition_output.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kBinWidth = std::uint64_t{1} << 52;

std::uint64_t LastHashOfBin(std::uint32_t bin) { return FirstHashOfSpillBin(bin) + (kBinWidth - 1); }

void RaiseTo(std::atomic<std::uint64_t>& peak, std::uint64_t value) {
  std::uint64_t known = peak.load();
  while (known < value && !peak.compare_exchange_weak(known, value)) {
  }
}

}  // namespace

std::uint32_t SpilledSplit::BinOf(std::uint64_t position) const {
  const auto after = std::upper_bound(positions.begin(), positions.end(), position);
  return static_cast<std::uint32_t>(after - positions.begin()) - 1;
}

struct SpillMerger::Chunk {
  const SpillFrame* frame;
  std::string rows;
  std::uint64_t first_hash;
  std::uint32_t records;
  std::uint64_t held() const { return rows.capacity() + sizeof(Chunk); }
};

struct SpillMerger::Run {
  const SpillPart* part = nullptr;
  std::vector<Chunk> chunks;
  std::size_t chunk = 0;    // the chunk of the next row
  std::uint32_t taken = 0;  // rows that were taken from it
  Decoder at{std::string_view()};
  SpillRow row;  // the one in the heap
};

SpillMerger::SpillMerger(Store& artifact, const SpilledSplit& split, std::uint64_t memory_bytes,
                         MergeCounters& counters, std::stop_token stop)
    : artifact_(artifact),
      split_(split),
      limit_(memory_bytes / 2),
      counters_(counters),
      stop_(std::move(stop)) {}

SpillMerger::~SpillMerger() = default;

Status SpillMerger::Copy(std::uint64_t begin, std::uint64_t end, std::uint64_t until,
                         const std::function<Status(std::string_view payload)>& row) {
  if (begin >= end) return {};
  const std::uint32_t bin = split_.BinOf(begin);
  if (FirstHashOfSpillBin(bin) >= next_hash_ && !exhausted_) {
    DropWindow();
    next_hash_ = FirstHashOfSpillBin(bin);
    position_ = split_.positions[bin];
  }
  while (position_ < end) {
    if (rows_left_ == 0) {
      RETURN_IF_ERROR(LoadWindow(until));
      continue;
    }
    const std::uint32_t run = heads_.front().run;
    if (position_ >= begin) RETURN_IF_ERROR(row(runs_[run].row.payload));
    ++position_;
    --rows_left_;
    std::pop_heap(heads_.begin(), heads_.end(), std::greater<>());
    heads_.pop_back();
    RETURN_IF_ERROR(Advance(run));
  }
  return {};
}

Status SpillMerger::Advance(std::uint32_t number) {
  Run& run = runs_[number];
  if (run.chunk < run.chunks.size() && run.taken == run.chunks[run.chunk].records) {
    Chunk& used_up = run.chunks[run.chunk++];
    if (run.at.left() > 0)
      return Damaged(*run.part, *used_up.frame,
                     Status(Code::kDataLoss, "it holds more rows than its entry says"));
    used_up.rows = std::string();
    run.taken = 0;
    if (run.chunk < run.chunks.size()) run.at = Decoder(run.chunks[run.chunk].rows);
  }
  if (run.chunk == run.chunks.size()) return {};
  run.row = TakeSpillRow(run.at);
  if (!run.at.ok())
    return Damaged(*run.part, *run.chunks[run.chunk].frame, Status(Code::kDataLoss, "its rows break off"));
  ++run.taken;
  heads_.push_back({run.row.hash, number});
  std::push_heap(heads_.begin(), heads_.end(), std::greater<>());
  return {};
}

void SpillMerger::DropWindow() {
  runs_.clear();
  heads_.clear();
  held_ = 0;
  rows_left_ = 0;
}

Status SpillMerger::LoadWindow(std::uint64_t until) {
  DropWindow();
  if (exhausted_) return Status(Code::kInternal, "shuffle: spills hold fewer rows than their bins say");
  const std::uint64_t first = next_hash_;
  const std::uint64_t chosen = ChooseLast(until);
  std::uint64_t last = chosen;
  for (const SpillPart& part : split_.parts) RETURN_IF_ERROR(LoadPart(part, first, last));

  // Rows in a window that was cut are denser than expected; rows in a small one are sparser.
  if (last != chosen)
    slice_ = last - first + 1;
  else if (held_ <= limit_ / 4 && slice_ < kBinWidth)
    slice_ *= 2;
  exhausted_ = last == UINT64_MAX;
  next_hash_ = last + 1;
  const std::uint32_t bin = SpillBinOf(last);
  if (last == LastHashOfBin(bin) && position_ + rows_left_ != split_.positions[bin + 1])
    return Status(Code::kInternal, "shuffle: spills hold other rows than their bins say");

  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    runs_[run].at = Decoder(runs_[run].chunks.front().rows);
    RETURN_IF_ERROR(Advance(run));
  }
  return {};
}

/// Returns the last hash of the window: whole bins, as far as they are needed and fit, or a part of one bin
/// that does not fit.
std::uint64_t SpillMerger::ChooseLast(std::uint64_t until) {
  std::uint32_t bin = SpillBinOf(next_hash_);
  if (next_hash_ == FirstHashOfSpillBin(bin)) {
    std::uint64_t bytes = split_.bytes[bin];
    slice_ = kBinWidth;
    if (bytes <= limit_) {
      while (bin + 1 < kSpillBins && split_.positions[bin + 1] < until &&
             bytes + split_.bytes[bin + 1] <= limit_)
        bytes += split_.bytes[++bin];
      return LastHashOfBin(bin);
    }
    // A quarter of the limit stays free for slices above the average.
    for (; bytes > limit_ - limit_ / 4 && slice_ > 1; bytes /= 2) slice_ /= 2;
  }
  const std::uint64_t bin_last = LastHashOfBin(bin);
  return bin_last - next_hash_ < slice_ ? bin_last : next_hash_ + (slice_ - 1);
}

/// Loads the rows of a part whose hashes lie in [first, last]; lowers `last` if memory does not suffice.
Status SpillMerger::LoadPart(const SpillPart& part, std::uint64_t first, std::uint64_t& last) {
  auto frame = std::lower_bound(
      part.frames.begin(), part.frames.end(), first,
      [](const SpillFrame& candidate, std::uint64_t hash) { return candidate.first_hash < hash; });
  if (frame != part.frames.begin()) --frame;  // its last rows may lie in the window, too
  if (frame == part.frames.end() || frame->first_hash > last) return {};

  Result<std::unique_ptr<ByteFile>> file = artifact_.Open(part.object);
  if (!file.ok()) return OutputError(part.object, std::move(file).status());
  Result<std::unique_ptr<ByteReader>> reader = (*file)->Open(frame->offset, stop_);
  if (!reader.ok()) return OutputError(part.object, std::move(reader).status());

  runs_.emplace_back().part = &part;
  for (; frame != part.frames.end() && frame->first_hash <= last; ++frame) {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "shuffle: stopped");
    std::string bytes(frame->stored, '\0');
    Status status = ReadExactly(**reader, bytes);
    if (!status.ok()) return Damaged(part, *frame, std::move(status));
    counters_.bytes_read += bytes.size();
    status = OpenSpillFrame(*frame, part.compressed, coder_, bytes);
    if (!status.ok()) return OutputError(part.object, std::move(status));
    const auto next = frame + 1;
    const std::uint64_t frame_last = next == part.frames.end() ? UINT64_MAX : next->first_hash;
    if (frame->first_hash >= first && frame_last <= last)
      Keep({&*frame, std::move(bytes), frame->first_hash, frame->records});
    else
      RETURN_IF_ERROR(KeepSome(part, *frame, bytes, first, last));
    RaiseTo(counters_.peak_bytes, held_);
    CutWindow(first, last);
  }
  if (runs_.back().chunks.empty()) runs_.pop_back();
  return {};
}

void SpillMerger::Keep(Chunk chunk) {
  held_ += chunk.held();
  rows_left_ += chunk.records;
  runs_.back().chunks.push_back(std::move(chunk));
}

/// Keeps the rows of a frame that lie in [first, last].
Status SpillMerger::KeepSome(const SpillPart& part, const SpillFrame& frame, const std::string& bytes,
                             std::uint64_t first, std::uint64_t last) {
  Chunk chunk = {&frame, {}, 0, 0};
  Decoder in(bytes);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::uint32_t i = 0; i < frame.records; ++i) {
    const std::uint64_t hash = TakeSpillRow(in).hash;
    if (!in.ok()) return Damaged(part, frame, Status(Code::kDataLoss, "its rows break off"));
    if (hash > last) break;
    if (hash < first) {
      begin = in.offset();
    } else if (chunk.records++ == 0) {
      chunk.first_hash = hash;
    }
    end = in.offset();
  }
  if (chunk.records == 0) return {};
  chunk.rows = bytes.substr(begin, end - begin);
  Keep(std::move(chunk));
  return {};
}

/// Halves the window until it fits. The rows of a part are sorted, so that only their tails are dropped.
void SpillMerger::CutWindow(std::uint64_t first, std::uint64_t& last) {
  while (held_ > limit_ && rows_left_ > 1 && last > first) {
    last = first + (last - first) / 2;
    for (Run& run : runs_) CutRun(run, last);
    runs_.erase(
        std::remove_if(runs_.begin(), runs_.end() - 1, [](const Run& run) { return run.chunks.empty(); }),
        runs_.end() - 1);  // the last one is still being loaded
  }
}

void SpillMerger::CutRun(Run& run, std::uint64_t last) {
  while (!run.chunks.empty() && run.chunks.back().first_hash > last) {
    held_ -= run.chunks.back().held();
    rows_left_ -= run.chunks.back().records;
    run.chunks.pop_back();
  }
  if (run.chunks.empty()) return;
  Chunk& tail = run.chunks.back();
  Decoder in(tail.rows);
  std::size_t end = 0;
  std::uint32_t records = 0;
  while (in.left() > 0 && TakeSpillRow(in).hash <= last && in.ok()) end = in.offset(), ++records;
  if (!in.ok() || records == tail.records) return;  // Advance reports broken rows
  held_ -= tail.held();
  rows_left_ -= tail.records - records;
  tail.rows = tail.rows.substr(0, end);
  tail.records = records;
  held_ += tail.held();
}

Status SpillMerger::Damaged(const SpillPart& part, const SpillFrame& frame, Status why) const {
  return OutputError(part.object, std::move(why).Annotate(StrCat("frame at offset ", frame.offset)));
}

}  // namespace pipeline
