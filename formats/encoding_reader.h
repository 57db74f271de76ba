// Text in any of the known encodings as UTF-8, front to back. Rules: text/encodings.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/byte_reader.h"
#include "base/mutex.h"
#include "text/encoding.h"

namespace pipeline {

/// Which encoding text is read as. Both absent: its bytes decide.
struct EncodingRules {
  std::optional<Encoding> fixed;  // somebody says so
  std::optional<Encoding> known;  // an earlier run found it out
};

/// What the bytes decided, told from the thread that reads them. Safe from any thread.
class EncodingChoice {
 public:
  struct Made {
    Encoding encoding = Encoding::kUtf8;
    std::uint64_t offset = 0;  // in the decoded text; all in front of it is ASCII
  };
  /// Absent as long as all was ASCII. Once a byte behind its offset was given out, it is there.
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

/// `input` from `offset` on, which is 0 unless all in front of it is UTF-8 or ASCII, as UTF-8. Holds up to
/// 3 MiB until the encoding is decided, then 256 KiB. `choice` is told; null: nobody is.
std::unique_ptr<ByteReader> NewEncodingReader(std::unique_ptr<ByteReader> input, const EncodingRules& rules,
                                              std::uint64_t offset, std::shared_ptr<EncodingChoice> choice);

}  // namespace pipeline
