// A cloud that rents slices of TPUs: cli/tpu/tpu.md
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "cli/tpu/slice_type.h"

namespace pipeline {

/// Labels of our machines.
inline constexpr const char* kSliceLabel = "pipe-slice";      // the name that a person chose
inline constexpr const char* kAttemptLabel = "pipe-attempt";  // digits
inline constexpr const char* kKeyLabel = "pipe-key";          // of the place of the records
inline constexpr const char* kSecondsLabel = "pipe-seconds";  // after which it is given back

/// Everything about a machine but its state. The names of nodes of several slices end with "-0", "-1" …
struct SliceOrder {
  std::string name;  // of the node and of its queued resource
  std::string project;
  std::string zone;
  SliceType type;
  bool spot = true;
  std::string network;          // empty: that of the project
  std::string subnetwork;       // empty: that of the zone
  std::string service_account;  // an address; empty: that of Compute Engine in the project
  bool external_ips = true;
  std::uint64_t most_seconds = 0;  // from its creation to its end
  std::uint64_t wait_seconds = 0;  // in the queue, at most
  std::map<std::string, std::string> labels;

  bool operator==(const SliceOrder&) const = default;
};

/// The state of a machine, as a decision needs it.
enum class SliceState : std::uint8_t {
  kAbsent,
  kQueued,  // in the queue
  kComing,
  kReady,
  kLost,     // it is of no use any more, and costs or blocks until it is deleted
  kLeaving,  // it is being deleted
};

/// A machine as it was seen.
struct SliceView {
  SliceState state = SliceState::kAbsent;
  std::string said;  // the cloud's own words: "PREEMPTED"; empty: none
  std::string name, zone;
  std::string type;     // in the API
  bool queued = false;  // it is a queued resource with its nodes
  bool spot = false;
  std::vector<std::string> addresses;  // of the workers that have one, by their number
  std::map<std::string, std::string> labels;
  /// Seconds since its nodes were made, by the clock of the cloud; of a queued resource without nodes, since
  /// it was asked for. Absent: the cloud does not tell.
  std::optional<std::int64_t> age;
  Status failure;  // with SliceRefusal: why a request failed in the queue
};

/// The name of the machine of an attempt; both are the values of its labels.
std::string MachineName(std::string_view slice, std::string_view attempt);
/// True if `pipe` made it: it has all labels above, and the name that follows from them.
bool HasOurMarks(const SliceView& view);
/// The failure of a list that leaves these zones out. OK: there are none.
Status ZonesLeftOut(const std::vector<std::string>& zones);

/// Failure detail of SliceCloud: the reason of a refusal.
struct SliceRefusal final : StatusDetail {
  enum class Why : std::uint8_t { kCapacity, kQuota, kRight, kArgument, kTaken };
  explicit SliceRefusal(Why reason) : why(reason) {}
  const Why why;
};

/// A request for a machine that the cloud works on.
struct SliceRequest {
  std::string operation;  // the name of the cloud's operation; empty: there is none
};

/// Each call is one request or a few; none waits for a machine. kUnavailable: no answer, or one that another
/// try may change. kPermissionDenied and others with SliceRefusal. kCancelled. Messages are one line with the
/// place, the reason and the remedy.
class SliceCloud {
 public:
  virtual ~SliceCloud() = default;
  /// Sends the request that creates the machine, once. With kUnavailable, the machine may come or not.
  /// kTaken: there is one of this name.
  virtual Result<SliceRequest> Ask(const SliceOrder& order, const std::stop_token& stop) = 0;
  /// Returns the machine of this order. With `request`, the failure of its operation is a failure of Look.
  virtual Result<SliceView> Look(const SliceOrder& order, const SliceRequest& request,
                                 const std::stop_token& stop) = 0;
  /// Asks for the end of the machine and of its queued resource. OK also if there is none.
  virtual Status Remove(const SliceOrder& order, const std::stop_token& stop) = 0;
  /// All machines of the project with HasOurMarks. `left_out`: zones that did not answer.
  virtual Result<std::vector<SliceView>> List(const std::string& project, std::vector<std::string>& left_out,
                                              const std::stop_token& stop) = 0;
};

}  // namespace pipeline
