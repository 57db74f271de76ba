// Requests that may block, done beside the loop that waits for their answers.
#pragma once

#include <cstdint>
#include <functional>

namespace pipeline {

/// The kinds of errands; at most one of each kind is under way.
enum class ErrandKind : std::uint8_t { kSign, kRead, kWrite, kSearch, kCount };

class Errands {
 public:
  virtual ~Errands() = default;
  /// Calls `work` once, on another thread, and later `done` on the thread of the loop. The two share only
  /// data that both hold.
  virtual void Send(ErrandKind kind, std::function<void()> work, std::function<void()> done) = 0;
};

}  // namespace pipeline
