// Moments in the life of a server: a request came, a piece of a body went by, an answer is about to go.
// Whoever kills a client at one of them finds the server standing still there.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace pipeline {

/// Safe from any thread.
class FakeMoments {
 public:
  /// A moment. Waits here from the one that HoldAfter named until Release.
  void Pass();
  /// Returns when `count` more moments have come and the last of them is held: true. False: Release was
  /// called.
  bool HoldAfter(std::uint64_t count);
  void Release();
  std::uint64_t passed() const;
  /// Somebody is in HoldAfter, or what it named is held.
  bool is_holding() const;

 private:
  mutable std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::uint64_t passed_ = 0;
  std::uint64_t hold_at_ = 0;  // 0: nothing is to be held
  std::uint64_t releases_ = 0;
};

}  // namespace pipeline
