// The rates and the connections of one address: how fast it must be, how fast it may be, and how many
// transfers its server serves at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/http/ranged_file.h"
#include "storage/remote/http/rate_limit.h"

namespace pipeline {

/// Counts the transfers per server. Safe from any thread; outlives its `Place` objects.
class ServerGate {
 public:
  /// The right to one transfer, until the last copy is destroyed.
  using Place = std::shared_ptr<const void>;

  /// Waits until fewer than `most` transfers from `server` are running; kCancelled.
  Result<Place> Enter(const std::string& server, int most, std::stop_token stop);

 private:
  void Leave(const std::string& server);

  Mutex mutex_;
  ConditionVariable left_;
  std::map<std::string, int> under_way_ GUARDED_BY(mutex_);
};

/// A transfer was too slow twice; the code is kUnavailable.
struct SlowServer final : StatusDetail {};

/// Its readers wait for a free connection of the server, and count as a transfer from their first read to
/// their end. The minimum rate counts only the time in which they wait for the server, not pauses of the
/// reader or of our own rate limit. A slow reader reconnects once at its position. If it is slow again, it
/// fails (kUnavailable with SlowServer) if another address follows; otherwise it continues and prints a note.
class PacedFile final : public RangedFile {
 public:
  struct Pace {
    std::string server;                         // the server that the transfers are counted for
    int connections = 1;                        // maximum per server at once
    std::shared_ptr<ServerGate> gate;           // shared by the files of a run
    std::shared_ptr<RateLimit> rate = nullptr;  // shared by all readers under one limit; null: none
    std::uint64_t least = 4096;  // bytes per second of one transfer, while a reader waits; 0: any rate
    std::chrono::milliseconds over{60'000};  // the time over which `least` is measured
    std::string name = {};                   // for messages: a URL without secrets
    bool is_last = true;                     // no other address follows this one
    bool may_reconnect = true;               // two transfers of it can be joined
    bool compares = false;  // the last bytes of a transfer are compared before it is joined to another
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
