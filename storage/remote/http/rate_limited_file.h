// Limits the number of concurrent transfers per server, and their rate.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/http/ranged_file.h"
#include "storage/remote/http/rate_limit.h"

namespace pipeline {

/// Counts the transfers per server. Safe from any thread; outlives its `Place` objects.
class ServerGate {
 public:
  /// The right to one transfer, until it is destroyed.
  class Place {
   public:
    Place(ServerGate& gate, std::string server) : gate_(gate), server_(std::move(server)) {}
    ~Place() { gate_.Leave(server_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    ServerGate& gate_;
    const std::string server_;
  };

  /// Waits until fewer than `most` transfers from `server` are running; kCancelled.
  Result<std::unique_ptr<Place>> Enter(const std::string& server, int most, std::stop_token stop);

 private:
  void Leave(const std::string& server);

  Mutex mutex_;
  ConditionVariable left_;
  std::map<std::string, int> under_way_ GUARDED_BY(mutex_);
};

/// A file whose readers wait for a free connection of its server and keep to a rate.
class RateLimitedFile final : public RangedFile {
 public:
  struct Manners {
    std::string server;                         // the server that the transfers are counted for
    int connections = 1;                        // maximum per server at once
    std::shared_ptr<ServerGate> gate;           // shared by the files of a run
    std::shared_ptr<RateLimit> rate = nullptr;  // shared by all readers under one limit; null: none
  };
  RateLimitedFile(std::shared_ptr<const RangedFile> file, Manners manners)
      : file_(std::move(file)), manners_(std::move(manners)) {}

  std::uint64_t size() const override { return file_->size(); }
  /// Counts as a transfer from its first read to its end.
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

 private:
  const std::shared_ptr<const RangedFile> file_;
  const Manners manners_;
};

}  // namespace pipeline
