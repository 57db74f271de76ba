// Enforces a minimum transfer rate: a slow transfer is restarted once, then left for another address.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "storage/remote/http/ranged_file.h"

namespace pipeline {

struct LeastRate {
  std::uint64_t bytes_per_second = 4096;   // minimum of one transfer, while a reader waits; 0: any rate
  std::chrono::milliseconds over{60'000};  // the time over which the rate is measured
};

/// A transfer was too slow twice; the code is kUnavailable.
struct SlowServer final : StatusDetail {};

/// Counts only the time in which its readers wait for the server, not pauses of the reader or of our own
/// rate limit. A slow reader reconnects once at its position. If it is slow again, it fails (kUnavailable
/// with SlowServer) if another address follows; otherwise it continues and prints a note.
class PacedFile final : public RangedFile {
 public:
  struct Pace {
    LeastRate least = {};
    std::string name;           // for messages: a URL without secrets
    bool is_last = true;        // no other address follows this one
    bool may_reconnect = true;  // two transfers of it can be joined
    bool compares = false;      // the last bytes of a transfer are compared before it is joined to another
    std::function<void(std::string_view line)> note = {};  // prints one line for people; may be empty
    const Clock* clock = &SystemClock();
  };
  PacedFile(std::shared_ptr<const RangedFile> file, Pace pace)
      : file_(std::move(file)), pace_(std::move(pace)) {}

  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

 private:
  class Reader;
  /// Prints at most one line per `over`, for all readers.
  void Say(const std::string& line) const;

  const std::shared_ptr<const RangedFile> file_;
  const Pace pace_;
  mutable Mutex mutex_;
  mutable bool has_said_ GUARDED_BY(mutex_) = false;
  mutable std::chrono::nanoseconds said_at_ GUARDED_BY(mutex_){0};
};

}  // namespace pipeline
