// Little-endian numbers and varints for our own formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipeline {

template <class Unsigned>
void PutFixed(std::string& out, Unsigned number) {
  char bytes[sizeof(Unsigned)];
  for (char& byte : bytes) byte = static_cast<char>(number), number = static_cast<Unsigned>(number >> 8);
  out.append(bytes, sizeof(bytes));
}
inline void PutU32(std::string& out, std::uint32_t number) { PutFixed(out, number); }
inline void PutU64(std::string& out, std::uint64_t number) { PutFixed(out, number); }

/// LEB128, 1 to 10 bytes: one byte for a number below 128.
inline void PutVarint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

/// Maps a difference modulo 2^64 that is small in either direction to a small number.
constexpr std::uint64_t ZigZag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t UnZigZag(std::uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

/// Reads numbers from the front of `bytes`. After the end or an invalid varint every read returns 0 or an
/// empty value, and ok() stays false. Check ok() once after a group of reads, and before a count from the
/// input sets the size of an allocation.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return ok_; }
  /// Called by a reader that finds an impossible value.
  void Fail() { ok_ = false; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  /// Bytes read so far; if ok() is false, where the reading stopped.
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

  std::uint8_t U8() { return Has(1) ? static_cast<std::uint8_t>(*at_++) : std::uint8_t{0}; }
  std::uint32_t U32() { return static_cast<std::uint32_t>(Fixed(4)); }
  std::uint64_t U64() { return Fixed(8); }

  std::uint64_t Varint() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = U8();
      if (shift == 63 && byte > 1) break;  // past 64 bits
      number |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
    ok_ = false;
    return 0;
  }
  /// Reads a varint that must be below 2^32.
  std::uint32_t Varint32() {
    const std::uint64_t number = Varint();
    if (number > UINT32_MAX) ok_ = false;
    return ok_ ? static_cast<std::uint32_t>(number) : 0;
  }

  std::string_view Bytes(std::uint64_t size) {
    if (!Has(size)) return {};
    const std::string_view bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return bytes;
  }

 private:
  bool Has(std::uint64_t size) {
    if (size > left()) ok_ = false;
    return ok_;
  }
  std::uint64_t Fixed(std::size_t size) {
    if (!Has(size)) return 0;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i)
      number |= std::uint64_t{static_cast<std::uint8_t>(at_[i])} << (8 * i);
    at_ += size;
    return number;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace pipeline
