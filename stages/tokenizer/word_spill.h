// Counts of words that do not fit in memory: sorted runs in files, which are added up at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/local_store.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Gets the distinct words, in the order of their bytes, each with its count.
using TakeWord = std::function<Status(std::string_view word, std::uint64_t count)>;

/// The files belong to one process, and nobody reads them later. Any thread may call it.
class WordSpill {
 public:
  /// Makes its files in `directory`. The owner of the directory removes them.
  explicit WordSpill(const std::string& directory) : store_(directory) {}

  /// Writes the words as one run. Runs that became many are merged to one, so that few files are open at a
  /// time.
  Status Write(const CountedWords& words, const std::stop_token& stop);
  bool empty() const;
  /// Adds up the counts of each word, to 2^64 - 1 at most. kDataLoss: a run is damaged. An error of `take`
  /// ends it.
  Status Merge(const TakeWord& take, const std::stop_token& stop);

 private:
  Status MergeRuns(const TakeWord& take, const std::stop_token& stop) REQUIRES(mutex_);
  Status MakeOneOfAll(const std::stop_token& stop) REQUIRES(mutex_);
  std::string NewName() REQUIRES(mutex_);

  LocalStore store_;
  mutable Mutex mutex_;
  std::vector<std::string> runs_ GUARDED_BY(mutex_);  // names of the objects
  std::size_t made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace pipeline
