// Bytes of an event channel as events. Takes whatever comes: CONTRACT.md, section 5.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace pipeline {

/// One channel. One thread at a time.
class EventLines {
 public:
  static constexpr std::size_t kMostLine = 1 << 20;

  /// Calls `take` for each event that a line ends of; keeps the rest of a line for the next call.
  void Feed(std::string_view bytes, const std::function<void(const Json& event)>& take);
  /// The channel is over: half a line is a bad one.
  void End();

  /// Lines that were no event.
  std::uint64_t bad() const { return bad_; }
  /// The beginning of the first of them, for a message.
  const std::string& first_bad() const { return first_bad_; }

 private:
  void Take(std::string_view line, const std::function<void(const Json& event)>& take);
  void Refuse(std::string_view line);

  std::string rest_;       // at most kMostLine
  bool overlong_ = false;  // what comes up to the next LF belongs to a line that is too long
  std::uint64_t bad_ = 0;
  std::string first_bad_;
};

/// A text's beginning without control characters, at most `most` bytes and never half a character.
std::string Readable(std::string_view text, std::size_t most);

}  // namespace pipeline
