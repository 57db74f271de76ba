// Transfers held to a least rate: one that crawls is begun anew, and then left for another address.
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
#include "remote/ranged_file.h"

namespace pipeline {

struct LeastRate {
  std::uint64_t bytes_per_second = 4096;   // of one transfer, while somebody waits for it; 0: any
  std::chrono::milliseconds over{60'000};  // measured over so long
};

/// A transfer was slower than it may be, twice; the code is kUnavailable.
struct SlowServer final : StatusDetail {};

/// Measures the time in which its readers wait for bytes, and no other: not that in which nobody reads, or in
/// which a rate of our own makes them wait. A slow reader asks once more from where it is; slow again, it
/// fails (kUnavailable with SlowServer) where another address stands behind this one, else goes on and says
/// so.
class PacedFile final : public RangedFile {
 public:
  struct Pace {
    LeastRate least = {};
    std::string name;           // for messages: a URL without what must stay secret
    bool is_last = true;        // no other address stands behind this one
    bool may_reconnect = true;  // two transfers of it can be put together
    std::function<void(std::string_view line)> note = {};  // one line for people; may be empty
    const Clock* clock = &SystemClock();
  };
  PacedFile(std::shared_ptr<const RangedFile> file, Pace pace)
      : file_(std::move(file)), pace_(std::move(pace)) {}

  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

 private:
  class Reader;
  /// Once in `over`, whoever says it.
  void Say(const std::string& line) const;

  const std::shared_ptr<const RangedFile> file_;
  const Pace pace_;
  mutable Mutex mutex_;
  mutable bool has_said_ GUARDED_BY(mutex_) = false;
  mutable std::chrono::nanoseconds said_at_ GUARDED_BY(mutex_){0};
};

}  // namespace pipeline
