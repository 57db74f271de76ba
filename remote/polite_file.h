// How many transfers a server is asked for at once, and how fast they may be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "remote/ranged_file.h"
#include "remote/rate_limit.h"

namespace pipeline {

/// Counts the transfers from each server. Safe from any thread; outlives what it hands out.
class ServerGate {
 public:
  /// One transfer, until it is destroyed.
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

  /// Waits until fewer than `most` transfers from `server` are under way; kCancelled.
  Result<std::unique_ptr<Place>> Enter(const std::string& server, int most, std::stop_token stop);

 private:
  void Leave(const std::string& server);

  Mutex mutex_;
  ConditionVariable left_;
  std::map<std::string, int> under_way_ GUARDED_BY(mutex_);
};

/// A file whose readers wait for their turn at its server and keep to a rate.
class PoliteFile final : public RangedFile {
 public:
  struct Manners {
    std::string server;                         // whom the transfers are counted for
    int connections = 1;                        // to the server at once, at most
    std::shared_ptr<ServerGate> gate;           // shared by the files of a run
    std::shared_ptr<RateLimit> rate = nullptr;  // shared by those that keep to it together; null: none
  };
  PoliteFile(std::shared_ptr<const RangedFile> file, Manners manners)
      : file_(std::move(file)), manners_(std::move(manners)) {}

  std::uint64_t size() const override { return file_->size(); }
  /// Counts from its first read to its end.
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

 private:
  const std::shared_ptr<const RangedFile> file_;
  const Manners manners_;
};

}  // namespace pipeline
