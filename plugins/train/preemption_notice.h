// Notices that the provider is about to take this machine. CONTRACT.md, section 7.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"

namespace pipeline {

/// A thread asks the metadata server as long as this object exists. If there is none, it asks once.
class PreemptionNotice {
 public:
  /// Returns a value of the metadata server; absent: there is no such value, or no server.
  using Ask = std::function<Result<std::optional<std::string>>(std::string_view path)>;

  explicit PreemptionNotice(Ask ask, std::chrono::milliseconds every = std::chrono::seconds(5));
  /// Ends the thread, after a question that is under way.
  ~PreemptionNotice() = default;

  /// Safe from any thread.
  bool noticed() const;
  /// The reason, for people; empty: nothing was noticed.
  std::string why() const;

 private:
  void Loop(const std::stop_token& stop);
  /// True: go on asking.
  bool Look();
  void Notice(std::string why);

  const Ask ask_;
  const std::chrono::milliseconds every_;
  mutable Mutex mutex_;
  std::string why_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

}  // namespace pipeline
