// A model of a slice of several hosts with a bucket, for schedules of faults: the real SliceLoop with
// modelled requests, disks, trainers and lease, and a clock of one second per tick. It checks the promises of
// hosts.md at each write.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/train/hosts/slice_loop.h"

namespace pipeline {

struct SliceOptions {
  int hosts = 3;
  int slowest_s = 1;       // latency of a request, at most
  std::int64_t steps = 6;  // checkpoints of a whole training
};

class SliceModel {
 public:
  enum class Fault : std::uint8_t {
    kKill,     // the program dies, and is started again
    kReplace,  // another machine takes the number
    kFreeze,
    kCut,   // no request reaches the bucket
    kDeaf,  // some requests reach it, no answer comes back
    kKillTrainer,
    kStop,
    kSlow,   // requests of all hosts take up to 25 s
    kTwice,  // the machine is frozen, another one takes the number, and the first one thaws
    kCount
  };

  SliceModel(const SliceOptions& options, std::uint64_t seed);
  ~SliceModel();

  /// Something happens to a host now; `seconds`: how long it lasts, or until the host is started again.
  void Hit(Fault fault, int host, int seconds);
  /// One second.
  void Tick();

  int now() const { return now_; }
  /// Every host's newest start has ended as done.
  bool Done() const;
  /// Broken promises; empty: none.
  const std::vector<std::string>& broken() const { return broken_; }
  /// The last time at which a trainer of this attempt ran on any host that was not frozen.
  int LastTrainer(std::int64_t attempt) const;
  struct Exit {
    int host;
    int code, signal;
    std::int64_t step;  // of its newest checkpoint
  };
  /// How the trainers of an attempt ended.
  std::vector<Exit> Exits(std::int64_t attempt) const;
  /// The attempt whose trainers all run now; 0: none.
  std::int64_t Training() const;
  /// The time when the host's card was last replaced.
  int LastSign(int host) const { return signed_.at(static_cast<std::size_t>(host)); }
  std::int64_t attempts() const { return attempts_.empty() ? 0 : attempts_.rbegin()->first; }
  std::string Describe() const;

 private:
  using Time = HostTiming::Time;
  using Disk = std::vector<LocalCheckpoint>;
  static constexpr auto kParts = static_cast<std::size_t>(ErrandKind::kCount), kLease = kParts + 1;  // lanes
  class Bucket;
  class Trainer;
  struct Start;

  struct Request {
    int effect_at = 0, answer_at = 0;
    bool arrives = true, is_answered = true, was_done = false;
    std::function<void()> work, done;
  };
  template <class T>
  struct Stored {
    T value;
    std::int64_t version = 0;
  };

  int Random(int least, int most);
  void Break(std::string what);
  void Begin(int host);
  void Die(std::size_t at);
  Start* Newest(int host);
  /// The clock of its machine: those of two machines differ by hours.
  Time Clock(const Start& start) const;

  Request Ask(const Start& start, int latency, std::function<void()> work, std::function<void()> done);
  void Serve(Start& start);
  void Drive(Start& start);
  void TakeLease(Start& start);
  bool HoldsLease(const Start& start) const;
  void SendPart(Start& start);
  void WriteMarker(Start& start, const LocalCheckpoint& send);
  void Train();
  void TrainOne(Start& start, bool together, bool ready, bool stops);

  const SliceOptions options_;
  std::mt19937_64 random_;
  int now_ = 0;
  std::unique_ptr<Bucket> bucket_;
  std::vector<std::shared_ptr<Disk>> disks_;  // of the machine that has the number now
  std::vector<std::unique_ptr<Start>> starts_;
  std::vector<Request> late_;        // of dead starts: their effects may still arrive
  std::multimap<int, int> planned_;  // time → host of new starts
  std::vector<bool> done_;           // by host: its newest start ended as done
  std::vector<int> signed_;
  int slow_until_ = 0;
  bool unreachable_ = false;  // the request that is done now does not arrive, or its answer gets lost
  std::int64_t nonces_ = 0, versions_ = 0;

  std::map<int, Stored<HostCard>> cards_;
  std::map<std::int64_t, AttemptRecord> attempts_;
  std::set<std::int64_t> ends_;
  std::set<std::tuple<std::int64_t, std::int64_t, int>> files_, records_;  // step, attempt, host
  std::map<std::int64_t, std::int64_t> markers_;                           // step → attempt
  Stored<std::string> lease_;                                              // nonce of its holder
  bool published_ = false;
  std::map<std::int64_t, int> last_trainer_;
  std::map<std::int64_t, std::vector<Exit>> exits_;
  std::vector<std::string> broken_;
};

}  // namespace pipeline
