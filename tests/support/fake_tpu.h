// A fake of tpu.googleapis.com, version 2, with a clock of its own: nodes, queued resources, operations and
// lists. cli/tpu/tpu.md names the sources of its bodies, words and errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "storage/remote/http/http_client.h"

namespace pipeline {

/// One request that goes wrong.
struct TpuFault {
  enum class Kind : std::uint8_t {
    kDropBefore,  // the request never arrives
    kDropAfter,   // it is done, and the answer is lost
    kDropLate,    // it is done after `seconds`, and the answer is lost at once
    kAnswer,      // it is refused with `status`, `word` and `message`
    kLie,         // it is answered with 200, and nothing is done
  };
  std::string method;  // "POST"
  std::string part;    // of the path; empty: any
  Kind kind = Kind::kDropBefore;
  std::int64_t seconds = 0;
  int status = 0;
  std::string word = {}, message = {};
  std::string body = {};  // of kAnswer, in place of an error; empty: an error
  int times = 1;
};

/// Zones have the types and images that cli/tpu/slice_type.h knows. Safe from any thread.
class FakeTpu {
 public:
  struct Times {
    std::int64_t create = 120;
    std::int64_t remove = 60;
  };
  /// A machine, or a queued resource with its nodes, also one that is gone.
  struct Machine {
    std::string zone, id;
    Json body;  // as it was asked for
    bool queued = false;
    bool persons = false;                 // a person made it
    std::int64_t asked = 0;               // when; seconds of the clock
    std::optional<std::int64_t> begun;    // capacity was found
    std::optional<std::int64_t> removed;  // the request that deletes it
    std::optional<std::int64_t> suspended;
    std::string state;  // that somebody set; empty: it follows from the times
    bool gone = false;
  };
  struct Answer {
    int status = 0;  // 0: no answer
    std::string body;
  };

  explicit FakeTpu(std::vector<std::string> zones = {"us-central1-a", "us-central1-b", "europe-west4-a"});

  /// `target`: the path with its query, as sent.
  Answer Handle(const std::string& method, const std::string& target, const std::string& body);

  void Advance(std::chrono::seconds by);
  std::int64_t now() const;
  Times& times() { return times_; }

  /// The machines that a zone still has; a zone begins with 1,000.
  void SetCapacity(const std::string& zone, int machines);
  /// Refuses each creation in the zone for the reason of a quota of 0.
  void RefuseQuota(const std::string& zone);
  void Fail(TpuFault fault);
  /// Every queued resource in the zone fails with this error, a google.rpc.Status.
  void FailQueued(const std::string& zone, const std::string& error);
  /// Spot machines are taken back.
  void Preempt(const std::string& id);
  void SetState(const std::string& id, const std::string& state);
  /// The machine is gone without a state.
  void Vanish(const std::string& id);
  void AddPersonsNode(const std::string& zone, const std::string& id);
  /// Lists show the machines of so long ago.
  void LagLists(std::int64_t seconds);
  /// Lists over all zones name this zone as unreachable.
  void LeaveOut(const std::string& zone);

  /// Machines that are there and cost, without those of persons.
  std::vector<Machine> Left() const;
  /// How often a machine of this name came to be.
  int Creations(const std::string& id) const;
  /// Names of machines that came to be.
  std::set<std::string> Names() const;
  /// Persons' machines that are gone.
  int PersonsLost() const;
  std::vector<std::string> Requests() const;  // "POST /v2/… {…}"

 private:
  struct Operation {
    std::string name, target;
    std::int64_t done = 0;  // when
    std::optional<std::pair<int, std::string>> error;
  };
  struct Late {
    std::int64_t at;
    std::string method, target, body;
  };

  Answer Do(const std::string& method, const std::string& target, const std::string& body) REQUIRES(mutex_);
  Answer Create(const std::string& zone, const std::string& kind, const std::string& id,
                const std::string& body) REQUIRES(mutex_);
  Answer Show(const std::string& zone, const std::string& kind, const std::string& id) REQUIRES(mutex_);
  /// `force`: with its nodes, if it is a queued resource.
  Answer Remove(const std::string& zone, const std::string& kind, const std::string& id, bool force)
      REQUIRES(mutex_);
  Answer List(const std::string& zone, const std::string& kind, std::size_t from, std::size_t most)
      REQUIRES(mutex_);
  /// `target`: its full name; `seconds`: until it is done.
  Answer Operated(const std::string& zone, const std::string& target, std::int64_t seconds,
                  std::optional<std::pair<int, std::string>> error) REQUIRES(mutex_);
  Json OperationOf(const Operation& operation) const REQUIRES(mutex_);
  void Settle() REQUIRES(mutex_);
  bool TakeCapacity(const std::string& zone, int machines) REQUIRES(mutex_);
  Machine* Find(const std::string& zone, const std::string& id) REQUIRES(mutex_);
  Machine* Named(const std::string& id) REQUIRES(mutex_);
  /// The nodes of a machine now; none before it begins.
  std::vector<Json> NodesOf(const Machine& machine) const REQUIRES(mutex_);
  Json QueuedOf(const Machine& machine) const REQUIRES(mutex_);
  std::string StateOf(const Machine& machine) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  Times times_;
  std::int64_t now_ GUARDED_BY(mutex_) = 1'800'000'000;
  std::map<std::string, int> capacity_ GUARDED_BY(mutex_);
  std::set<std::string> no_quota_ GUARDED_BY(mutex_);
  std::map<std::string, Json> queue_errors_ GUARDED_BY(mutex_);  // by zone
  std::deque<Machine> machines_ GUARDED_BY(mutex_);
  std::map<std::string, Operation> operations_ GUARDED_BY(mutex_);
  std::vector<TpuFault> faults_ GUARDED_BY(mutex_);
  std::vector<Late> late_ GUARDED_BY(mutex_);
  std::int64_t lag_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> left_out_ GUARDED_BY(mutex_);
  std::vector<std::string> requests_ GUARDED_BY(mutex_);
};

/// A client whose every request goes to `fake`, which outlives it.
std::unique_ptr<HttpClient> NewFakeTpuClient(FakeTpu& fake);

/// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string HttpDate(std::int64_t unix_seconds);

}  // namespace pipeline
