#include "base/digest.h"

#include "base/words.h"

#define XXH_STATIC_LINKING_ONLY  // the state by value, so that make_unique can align it
#include <xxhash.h>

#include <array>

namespace pipeline {

namespace {

std::array<char, 8> LittleEndian(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return bytes;
}

void AppendHex(std::string& out, std::uint64_t word) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(word >> shift) & 15]);
}

}  // namespace

std::string Digest::ToHex() const {
  std::string hex;
  hex.reserve(32);
  AppendHex(hex, high);
  AppendHex(hex, low);
  return hex;
}

std::optional<Digest> Digest::FromHex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  const auto high = ParseNumber<std::uint64_t>(hex.substr(0, 16), 16);
  const auto low = ParseNumber<std::uint64_t>(hex.substr(16), 16);
  return high && low ? std::optional(Digest{*high, *low}) : std::nullopt;
}

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::Update(std::string_view bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::UpdateField(std::string_view bytes) { return UpdateU64(bytes.size()).Update(bytes); }

Hasher& Hasher::UpdateU64(std::uint64_t number) {
  const std::array<char, 8> bytes = LittleEndian(number);
  return Update({bytes.data(), bytes.size()});
}

Digest Hasher::Finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return {hash.high64, hash.low64};
}

Digest DigestOf(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::uint64_t Hash64(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace pipeline
