// Reads text in any known encoding as UTF-8, front to back. Rules: text/encodings.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/byte_reader.h"
#include "base/mutex.h"
#include "text/encoding.h"

namespace pipeline {

/// Encoding of the text. Both absent: the bytes decide.
struct EncodingRules {
  std::optional<Encoding> fixed;  // set by a person
  std::optional<Encoding> known;  // found by an earlier run
  bool by_letters = true;         // how the bytes decide: GuessEncoding
};

/// Passes the encoding that the bytes decided from the reading thread to others. Safe from any thread.
class EncodingChoice {
 public:
  struct Made {
    Encoding encoding = Encoding::kUtf8;
    std::uint64_t offset = 0;  // in the decoded text; all text before it is ASCII
  };
  /// Absent: all bytes so far were ASCII, or the encoding is fixed. Set before a byte after `offset` is
  /// returned.
  std::optional<Made> made() const {
    const Lock lock(mutex_);
    return made_;
  }
  void Make(const Made& made) {
    const Lock lock(mutex_);
    made_ = made;
  }

 private:
  mutable Mutex mutex_;
  std::optional<Made> made_ GUARDED_BY(mutex_);
};

/// Returns `input` as UTF-8. `input` begins at byte `offset` of the text; `offset` is 0 unless all bytes
/// before it are UTF-8 or ASCII. Holds up to 3 MiB until the encoding is decided, then 256 KiB. `choice`
/// receives the decision; null: nobody needs it.
std::unique_ptr<ByteReader> NewEncodingReader(std::unique_ptr<ByteReader> input, const EncodingRules& rules,
                                              std::uint64_t offset, std::shared_ptr<EncodingChoice> choice);

}  // namespace pipeline
