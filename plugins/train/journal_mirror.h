// Brings the events, curves and logs of a training to its bucket during the training: CONTRACT.md,
// section 10.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// Sends what files of the run directory got since the last time, as segments: objects with a number, which
/// are created and never replaced. A thread sends every `every`. A failure ends no training: a warning tells
/// it, and the next segment has what this one lacks.
class JournalMirror {
 public:
  static constexpr std::chrono::minutes kEvery{5};

  /// `directory` and `call` outlive it. `curves`: the name of the directory below it that has the TensorBoard
  /// files; empty: none has.
  JournalMirror(const RunDirectory& directory, std::string run_uri, std::string curves,
                const PluginServices& call, std::chrono::nanoseconds every = kEvery);
  ~JournalMirror();
  JournalMirror(const JournalMirror&) = delete;
  JournalMirror& operator=(const JournalMirror&) = delete;

  /// Compares this machine with the bucket, and brings the events of another machine here. Call it before the
  /// first attempt, once, while nothing writes events. An error: the bucket cannot be read.
  Status Begin();
  /// Traces of a profiler are large. They are sent whole, and only once their program has written them.
  enum class Traces { kNone, kSettled, kAll };
  /// Sends everything that is there now, of traces as many as `traces` says. Any thread, after Begin.
  void Send(Traces traces = Traces::kNone);
  /// The destructor sends nothing: the bucket does not answer, and the run is to stop. The next run sends it.
  void Leave() { left_ = true; }

 private:
  using Offsets = std::map<std::string, std::int64_t>;  // by the names of files below the run directory
  struct Range {
    std::int64_t from = 0, to = 0;
  };
  using Ranges = std::map<std::string, Range>;
  /// The files that have segments.
  std::vector<std::string> Files() const;
  Offsets Sizes() const;
  /// The part of a file that comes next, of its first `size` bytes: whole lines of events, and whole records
  /// of curves.
  Range Next(const std::string& file, std::int64_t size) const REQUIRES(mutex_);
  /// True if the object has these bytes.
  bool Has(const std::string& uri, const std::string& bytes) const;
  /// The objects of a segment by their names, and their bytes.
  Result<std::map<std::string, std::string>> Segment(const Ranges& ranges) const REQUIRES(mutex_);
  Status SendSegment(const Ranges& ranges) REQUIRES(mutex_);
  Status SendAll() REQUIRES(mutex_);
  /// `last`: nothing writes any more. A stop ends it, and the next run sends the rest.
  Status SendTraces(bool last) EXCLUDES(mutex_);
  bool Sent(const std::string& file) EXCLUDES(mutex_);
  /// Writes journal.json.
  Status Keep() const REQUIRES(mutex_);
  /// Reads it back, if it tells of the bucket as it is. `newest`: the number of the newest segment there.
  bool Continues(std::int64_t newest) REQUIRES(mutex_);
  Status BringEvents(const std::vector<std::string>& objects) const;

  const RunDirectory& directory_;
  const std::string run_uri_;
  const std::string curves_;  // its name below the run directory; empty: none
  const PluginServices& call_;
  const std::chrono::nanoseconds every_;

  mutable Mutex mutex_;
  std::int64_t next_ GUARDED_BY(mutex_) = 1;  // number of the next segment
  Offsets at_ GUARDED_BY(mutex_);             // the bytes that are in the bucket
  Ranges pending_ GUARDED_BY(mutex_);         // of a segment of which a part may be in the bucket
  bool left_ = false;                         // for the owner's thread
  bool failing_ GUARDED_BY(mutex_) = false;   // a warning has told it
  std::jthread thread_;                       // last: it uses the others
};

}  // namespace pipeline
