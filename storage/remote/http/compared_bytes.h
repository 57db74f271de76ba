// Bytes of a remote file that are fetched a second time before anything is appended to them: a server may
// name the same version and have other bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// So many bytes at the end of the earlier ones are compared.
inline constexpr std::size_t kComparedBytes = std::size_t{64} << 10;

/// Detail of kDataLoss: the server has other bytes than it sent before.
struct OtherBytes final : StatusDetail {};

/// kDataLoss with OtherBytes. `at`: the end of the compared bytes; `name`: for messages.
Status HasOtherBytes(std::string_view name, std::uint64_t at);

/// Reads as many bytes as `earlier` has and compares them. Returns HasOtherBytes, or the error of `reader`.
Status CompareBytes(ByteReader& reader, std::string_view earlier, std::string_view name, std::uint64_t at);

/// The last kComparedBytes that came, or all if there are fewer.
class LastBytes {
 public:
  void Add(std::string_view came);
  /// Forgets the first `count` of bytes().
  void Drop(std::size_t count) { bytes_.erase(0, bytes_.size() - bytes().size() + count); }
  std::string_view bytes() const {
    return std::string_view(bytes_).substr(bytes_.size() - std::min(bytes_.size(), kComparedBytes));
  }

 private:
  std::string bytes_;
};

}  // namespace pipeline
