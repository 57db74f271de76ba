#include "text/unigram/word_counter.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

namespace pipeline {

namespace {

constexpr std::size_t kTextBlockBytes = 128 << 10;  // of text: a fraction of a millisecond of work

}  // namespace

struct WordCounter::Block {
  std::string text;
  std::vector<std::uint32_t> cuts;
  struct Line {
    std::size_t text_end, cuts_end;
  };
  std::vector<Line> lines;

  void Clear() { text.clear(), cuts.clear(), lines.clear(); }
};

struct WordCounter::Worker {
  CountLine count;
  const WordOutlet& outlet;
  CountedWords words;

  void Count(std::string_view line, std::span<const std::uint32_t> cuts) {
    count(line, cuts, words);
    if (outlet.bytes > 0 && words.memory() >= outlet.bytes) outlet.take(words);
  }

  void Count(const Block& block) {
    Block::Line begin{0, 0};
    for (const Block::Line& end : block.lines) {
      Count(std::string_view(block.text).substr(begin.text_end, end.text_end - begin.text_end),
            std::span(block.cuts).subspan(begin.cuts_end, end.cuts_end - begin.cuts_end));
      begin = end;
    }
  }
};

WordCounter::WordCounter(std::size_t threads, const std::function<CountLine()>& make, WordOutlet outlet)
    : outlet_(std::move(outlet)), filling_(std::make_unique<Block>()) {
  for (std::size_t worker = 0; worker < std::max<std::size_t>(threads, 1); ++worker)
    workers_.push_back(std::make_unique<Worker>(Worker{make(), outlet_, {}}));
  {
    const Lock lock(mutex_);
    memories_.resize(workers_.size());
  }
  try {
    for (std::size_t worker = 1; worker < workers_.size(); ++worker)
      helpers_.emplace_back([this, worker] { Help(worker); });
  } catch (const std::system_error&) {  // the threads that there are count all lines
  }
}

WordCounter::~WordCounter() {
  {
    const Lock lock(mutex_);
    ended_ = true;
    waiting_.clear();
  }
  changed_.NotifyAll();
}

void WordCounter::Add(std::string_view line, std::span<const std::uint32_t> cuts) {
  if (helpers_.empty()) {
    workers_.front()->Count(line, cuts);
    memory_ = workers_.front()->words.memory();
    return;
  }
  filling_->text.append(line);
  filling_->cuts.insert(filling_->cuts.end(), cuts.begin(), cuts.end());
  filling_->lines.push_back({filling_->text.size(), filling_->cuts.size()});
  if (filling_->text.size() >= kTextBlockBytes) Hand();
}

/// Gives the block to a helper; if all have enough to do, counts it here.
void WordCounter::Hand() {
  bool counts_here = false;
  {
    const Lock lock(mutex_);
    counts_here = waiting_.size() >= helpers_.size();
    if (!counts_here) {
      waiting_.push_back(std::exchange(filling_, nullptr));
      if (!free_.empty()) {
        filling_ = std::move(free_.back());
        free_.pop_back();
      }
    }
    memory_ = std::accumulate(memories_.begin(), memories_.end(), workers_.front()->words.memory());
  }
  if (counts_here) {
    workers_.front()->Count(*filling_);
  } else {
    changed_.NotifyOne();
  }
  if (filling_ == nullptr) filling_ = std::make_unique<Block>();
  filling_->Clear();
}

void WordCounter::Help(std::size_t worker) {
  Lock lock(mutex_);
  while (true) {
    changed_.Wait(lock, [&]() REQUIRES(mutex_) { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::unique_ptr<Block> block = std::move(waiting_.back());
    waiting_.pop_back();
    ++busy_;
    lock.unlock();
    workers_[worker]->Count(*block);
    lock.lock();
    memories_[worker] = workers_[worker]->words.memory();
    free_.push_back(std::move(block));
    --busy_;
    if (busy_ == 0 && waiting_.empty()) changed_.NotifyAll();
  }
}

const CountedWords& WordCounter::Join() {
  Worker& first = *workers_.front();
  first.Count(*filling_);
  filling_->Clear();
  Lock lock(mutex_);
  while (!waiting_.empty()) {
    const std::unique_ptr<Block> block = std::move(waiting_.back());
    waiting_.pop_back();
    lock.unlock();
    first.Count(*block);
    lock.lock();
  }
  changed_.Wait(lock, [&]() REQUIRES(mutex_) { return busy_ == 0; });
  for (std::size_t worker = 1; worker < workers_.size(); ++worker) {
    first.words.Merge(workers_[worker]->words);
    workers_[worker]->words = CountedWords();
    memories_[worker] = 0;
  }
  memory_ = first.words.memory();
  return first.words;
}

}  // namespace pipeline
