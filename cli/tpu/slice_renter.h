// Rents a slice and gives it back: decisions, records and cloud together.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/tpu/slice_cloud.h"
#include "cli/tpu/slice_life.h"
#include "cli/tpu/slice_records.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

/// A slice that a person wants.
struct SliceWish {
  std::string name;                // a part of the names of its machines
  std::vector<std::string> zones;  // to try, in this order; at least one
  SliceOrder order;                // without its name, zone and labels
};

/// A machine that is there.
struct RentedSlice {
  SliceOrder order;
  SliceView view;
};

struct RenterMeans {
  const Clock* clock = &SystemClock();
  Pause* pause = &SystemPause();
  /// OK: the lease of the records is held at this moment; asked before a machine may come.
  std::function<Status()> confirm = [] { return Status(); };
  std::function<void(std::string_view)> tell = [](std::string_view) {};  // a line for people, at each change
  SliceTimes times = {};
};

/// One slice. One thread, which holds the lease of the records. All arguments outlive it.
class SliceRenter {
 public:
  SliceRenter(SliceCloud& cloud, const SliceRecords& records, RenterMeans means)
      : cloud_(cloud), records_(records), means_(std::move(means)) {}

  /// Goes on with the open attempt, or begins attempts until the slice is ready. kFailedPrecondition: the
  /// open attempt is of another wish, or a stranger has a machine of its name. With SliceRefusal: the cloud
  /// refuses. kCancelled, kUnavailable: the attempt is open, and a machine may come.
  Result<RentedSlice> Rent(const SliceWish& wish, const std::stop_token& stop);

  /// Deletes the machine of the open attempt, and every machine of these records in `project`. OK also if
  /// there is none. `name`: SliceWish::name.
  Status GiveBack(const std::string& name, const std::string& project, const std::stop_token& stop);

 private:
  struct Outcome {
    bool ready = false;
    SliceView view;
    SliceEnd end;    // if it is not ready
    Status failure;  // not OK: no other attempt helps
  };
  SliceIntent NextIntent(const SliceWish& wish, const NewestAttempt& newest) const;
  enum class Begun : std::uint8_t {
    kNow,     // its intent has just been written
    kBefore,  // by an earlier command, which may have asked for the machine
  };
  /// Runs one attempt to its end or until the slice is ready. `leaves`: why it ends in any case; empty: it
  /// does not.
  Result<Outcome> RunAttempt(const SliceIntent& intent, Begun begun, std::string_view leaves,
                             const std::stop_token& stop);
  /// Nobody may look at the machine. Returns `denied`; the attempt stays open if there may be a machine.
  Status EndDenied(const SliceIntent& intent, const Status& denied, bool may_exist,
                   const std::stop_token& stop) const;
  /// Sends the request that creates the machine.
  Status Ask(const SliceIntent& intent, SliceLife& life, SliceRequest& request, Outcome& outcome,
             const std::stop_token& stop);
  Status TakeRefusal(const Status& refused, SliceLife& life, Outcome& outcome) const;
  Status RemoveLeft(const std::string& name, const std::string& project, const std::stop_token& stop);
  std::chrono::milliseconds Now() const;
  void Tell(const SliceOrder& order, std::string_view said);

  SliceCloud& cloud_;
  const SliceRecords& records_;
  const RenterMeans means_;
  std::chrono::nanoseconds began_{0};  // the attempt
  std::string told_;                   // the last line
};

/// Whether a machine has the labels of these records.
bool IsOurs(const SliceView& view, const std::string& name, const std::string& key);
/// The machine that was seen, as an order: to delete it.
SliceOrder OrderOf(const SliceView& view, const std::string& project);

}  // namespace pipeline
