// Counts the words of many lines on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Counts the words of one line; used by one thread at a time.
using CountLine =
    std::function<void(std::string_view line, std::span<const std::uint32_t> cuts, CountedWords& words)>;

/// Takes the words of one thread from memory once they are many.
struct WordOutlet {
  std::uint64_t bytes = 0;                          // the least of a table that is taken; 0: none is
  std::function<void(CountedWords& words)> take{};  // called by that thread; leaves the table empty
};

/// Used by one thread, which counts as well as its helpers do. The counts do not depend on their number.
class WordCounter {
 public:
  /// `threads`: at most so many count at a time; helpers that the system refuses are done without. `make`
  /// returns the function of one thread.
  WordCounter(std::size_t threads, const std::function<CountLine()>& make, WordOutlet outlet = {});
  ~WordCounter();

  /// Copies the line.
  void Add(std::string_view line, std::span<const std::uint32_t> cuts);
  /// Bytes of the tables of all threads, as of the last block. Join makes them one: a word then counts once.
  std::uint64_t memory() const { return memory_; }
  /// Waits until all lines are counted; then the tables of all threads are one. It lacks the words that the
  /// outlet took.
  const CountedWords& Join();

 private:
  struct Block;
  struct Worker;
  void Hand();
  void Help(std::size_t worker);

  const WordOutlet outlet_;
  std::vector<std::unique_ptr<Worker>> workers_;  // the first one is the caller
  std::unique_ptr<Block> filling_;
  std::uint64_t memory_ = 0;

  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::unique_ptr<Block>> waiting_ GUARDED_BY(mutex_), free_ GUARDED_BY(mutex_);
  std::size_t busy_ GUARDED_BY(mutex_) = 0;                 // helpers that count
  std::vector<std::uint64_t> memories_ GUARDED_BY(mutex_);  // bytes of each helper's words
  bool ended_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> helpers_;  // the last member: they end before the others
};

}  // namespace pipeline
