// The bytes that a LineCutter was fed and has not cut yet, and the ends of sections and of the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// One thread at a time.
class SectionFeed {
 public:
  /// `raw`: offset of the first byte in the input. If it is not 0, no byte order mark is expected there.
  explicit SectionFeed(std::uint64_t raw) : mark_passed_(raw > 0), raw_(raw) {}

  /// Call only after Carry, or first. `bytes` must stay valid until the next Carry.
  void Feed(std::string_view bytes);
  void FinishInput() { finished_ = true; }
  void EndSection() { finished_ = section_ends_ = true; }

  /// Bytes that are visible and not yet cut.
  std::string_view rest() const { return (in_carry_ ? std::string_view(carry_) : fed_).substr(begin_); }
  /// True if the input or section ends with rest().
  bool finished() const { return finished_ && !(in_carry_ && carried_ < fed_.size()); }
  /// Offset of rest() in the input.
  std::uint64_t raw() const { return raw_; }

  /// Removes bytes from the front of rest(). Views of them stay valid until LookFurther or Carry.
  void Consume(std::size_t bytes) {
    begin_ += bytes;
    raw_ += bytes;
  }
  /// Removes rest() as if it had never been fed: it takes no offset.
  void PassOver() { begin_ += rest().size(); }

  /// Makes rest() longer by bytes that were fed. Returns false if it has all of them.
  bool LookFurther();
  /// Copies rest(), because the bytes that were fed go away.
  void Carry();

  bool mark_passed() const { return mark_passed_; }
  /// Passes over the byte order mark of a section, or over its absence; returns false if that needs more
  /// input. Adds to `marks`. kInvalidArgument: the mark is not that of UTF-8.
  Result<bool> PassMark(std::uint64_t& marks);

  /// Call when finished() and rest() is empty. Returns true if a section ended, and the next one begins;
  /// false if the input ended.
  bool BeginNextSection();

  /// Bytes of memory that it holds now.
  std::size_t memory_bytes() const { return carry_.capacity(); }

 private:
  // carry_ joins a line that spans two feeds: the rest of the first feed, and a copy of as many bytes of
  // the second as the line needs. Later lines are cut from fed_ itself.
  std::string_view fed_;
  std::string carry_;
  std::size_t carried_ = 0;  // carry_ ends with this many bytes from the front of fed_
  bool in_carry_ = false;
  std::size_t begin_ = 0;  // start of rest() in carry_ or fed_
  bool finished_ = false;
  bool section_ends_ = false;  // the section is finished, not the input
  bool mark_passed_;
  std::uint64_t raw_;
};

}  // namespace pipeline
