// A home in a bucket that this process holds: its lease, its log, and the right to write there. Rules:
// dag/home/home.md
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/home/home_log.h"
#include "dag/location/lease.h"
#include "dag/location/lease_keeper.h"
#include "storage/store.h"

namespace pipeline {

/// Safe from any thread.
class Home {
 public:
  /// Takes the lease of the home at `location`, and gives it its name if it is new. `root` is rooted there.
  /// `terms.holder` names the scratch, whose lock this process has. kFailedPrecondition: another run holds
  /// the home; the message names it. kPermissionDenied: objects cannot be replaced there.
  static Result<std::unique_ptr<Home>> Hold(const std::string& location, std::unique_ptr<Store> root,
                                            const LeaseTerms& terms,
                                            const std::function<void(std::string_view)>& note,
                                            std::stop_token stop);
  /// Writes what is left of the log and gives the lease back. The log that OpenLog returned is gone.
  ~Home();

  /// Opens the log of the home for appending. `path`: its file on this machine, which is replaced. Called
  /// once; the log ends before this.
  Result<std::unique_ptr<RunLog>> OpenLog(const std::string& path, std::stop_token stop);

  /// Text that identifies the home among all.
  const std::string& holder() const { return holder_; }
  /// OK: no other run has taken the home. Mostly without I/O.
  Status Check(std::stop_token stop) { return keeper_->Check(location_, std::move(stop)); }
  /// `lost` is called when the home is lost, at once if it is lost already. Null: nothing is called any more,
  /// and no call is running.
  void Watch(std::function<void(Status)> lost);

 private:
  Home(std::string location, std::unique_ptr<Store> bare);
  void Lose(const Status& why);

  const std::string location_;
  const std::unique_ptr<Store> bare_;  // the lease is written here
  std::unique_ptr<LeaseKeeper> keeper_;
  std::unique_ptr<Store> root_;  // asks the keeper before each change
  std::string holder_;
  Mutex mutex_;
  Status lost_ GUARDED_BY(mutex_);
  std::function<void(Status)> told_ GUARDED_BY(mutex_);  // null: nobody watches
  std::unique_ptr<HomeLog> log_;                         // null before OpenLog
};

}  // namespace pipeline
