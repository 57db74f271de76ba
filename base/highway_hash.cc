// The definition is in J. Alakuijala, B. Cox, J. Wassenberg, Fast keyed hash/pseudo-random function using
// SIMD multiply and permute (2016); the test has its published vectors.
#include "base/highway_hash.h"

#include <bit>
#include <cstring>

namespace pipeline {

namespace {

using Lanes = std::array<std::uint64_t, 4>;

constexpr std::size_t kPacketBytes = 32;
constexpr Lanes kMul0 = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3};
constexpr Lanes kMul1 = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377};

constexpr std::uint64_t Low(std::uint64_t lane) { return lane & 0xffffffff; }
constexpr std::uint64_t High(std::uint64_t lane) { return lane >> 32; }
constexpr std::uint64_t Byte(std::uint64_t lane, int from, int to) {
  return (lane >> (8 * from) & 0xff) << (8 * to);
}

std::uint64_t LaneAt(const char* bytes) {
  std::uint64_t lane = 0;
  std::memcpy(&lane, bytes, sizeof(lane));
  if constexpr (std::endian::native == std::endian::big) {
    std::uint64_t swapped = 0;
    for (int at = 0; at < 8; ++at) swapped |= Byte(lane, at, 7 - at);
    return swapped;
  }
  return lane;
}

/// Mixes the bytes of two lanes, so that bytes of a product that depend on the most bits come high.
void AddZipped(std::uint64_t odd, std::uint64_t even, std::uint64_t& to_odd, std::uint64_t& to_even) {
  to_even += Byte(even, 3, 0) | Byte(odd, 4, 1) | Byte(even, 2, 2) | Byte(even, 5, 3) | Byte(odd, 6, 4) |
             Byte(even, 1, 5) | Byte(odd, 7, 6) | Byte(even, 0, 7);
  to_odd += Byte(odd, 3, 0) | Byte(even, 4, 1) | Byte(odd, 2, 2) | Byte(odd, 5, 3) | Byte(odd, 1, 4) |
            Byte(even, 6, 5) | Byte(odd, 0, 6) | Byte(even, 7, 7);
}

class State {
 public:
  explicit State(const HighwayKey& key) : mul0_(kMul0), mul1_(kMul1) {
    for (std::size_t at = 0; at < 4; ++at) {
      v0_[at] = mul0_[at] ^ key[at];
      v1_[at] = mul1_[at] ^ std::rotl(key[at], 32);
    }
  }

  void Packet(const char* bytes) {
    Update({LaneAt(bytes), LaneAt(bytes + 8), LaneAt(bytes + 16), LaneAt(bytes + 24)});
  }

  /// Takes the last bytes: at least one, and fewer than a packet.
  void Rest(std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    for (std::uint64_t& lane : v0_) lane += (std::uint64_t{size} << 32) + size;
    for (std::uint64_t& lane : v1_)
      lane = std::uint64_t{std::rotl(static_cast<std::uint32_t>(High(lane)), static_cast<int>(size))} << 32 |
             std::rotl(static_cast<std::uint32_t>(lane), static_cast<int>(size));
    std::array<char, kPacketBytes> packet = {};
    const std::size_t whole = size & ~3u, odd = size & 3u;
    std::memcpy(packet.data(), bytes.data(), whole);
    if ((size & 16) != 0) {
      std::memcpy(packet.data() + 28, bytes.data() + size - 4, 4);
    } else if (odd != 0) {
      packet[16] = bytes[whole];
      packet[17] = bytes[whole + odd / 2];
      packet[18] = bytes[size - 1];
    }
    Packet(packet.data());
  }

  std::uint64_t Finish() {
    for (int round = 0; round < 4; ++round)
      Update({std::rotl(v0_[2], 32), std::rotl(v0_[3], 32), std::rotl(v0_[0], 32), std::rotl(v0_[1], 32)});
    return v0_[0] + v1_[0] + mul0_[0] + mul1_[0];
  }

 private:
  void Update(const Lanes& lanes) {
    for (std::size_t at = 0; at < 4; ++at) {
      v1_[at] += mul0_[at] + lanes[at];
      mul0_[at] ^= Low(v1_[at]) * High(v0_[at]);
      v0_[at] += mul1_[at];
      mul1_[at] ^= Low(v0_[at]) * High(v1_[at]);
    }
    AddZipped(v1_[1], v1_[0], v0_[1], v0_[0]);
    AddZipped(v1_[3], v1_[2], v0_[3], v0_[2]);
    AddZipped(v0_[1], v0_[0], v1_[1], v1_[0]);
    AddZipped(v0_[3], v0_[2], v1_[3], v1_[2]);
  }

  Lanes v0_, v1_, mul0_, mul1_;
};

}  // namespace

std::uint64_t HighwayHash64(const HighwayKey& key, std::string_view bytes) {
  State state(key);
  for (; bytes.size() >= kPacketBytes; bytes.remove_prefix(kPacketBytes)) state.Packet(bytes.data());
  if (!bytes.empty()) state.Rest(bytes);
  return state.Finish();
}

}  // namespace pipeline
