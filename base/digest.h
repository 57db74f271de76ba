// XXH3 digests. They detect accidents and changes, not forgery.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pipeline {

/// 128 bits (XXH3-128) that name a content or a recipe. All zero: none.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const Digest&) const = default;
  bool empty() const { return high == 0 && low == 0; }

  /// 32 lower-case hexadecimal digits, high word first.
  std::string ToHex() const;
  /// Absent unless `hex` is exactly 32 hexadecimal digits.
  static std::optional<Digest> FromHex(std::string_view hex);
};

/// Hashes a stream of bytes. One thread at a time.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& Update(std::string_view bytes);
  /// Hashes the length first, so that ("ab","c") and ("a","bc") differ.
  Hasher& UpdateField(std::string_view bytes);
  /// Eight bytes, little endian.
  Hasher& UpdateU64(std::uint64_t number);
  /// Digest of all bytes so far; more may follow.
  Digest Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest DigestOf(std::string_view bytes);

/// XXH3-64 of `bytes`.
std::uint64_t Hash64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace pipeline
