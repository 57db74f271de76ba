#include "base/digest.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

/// The buffer that xxHash's own sanity check uses.
std::string SanityBytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 2654435761u;
  for (char& byte : bytes) {
    byte = static_cast<char>(state >> 56);
    state *= 11400714785074694797ull;
  }
  return bytes;
}

TEST(DigestTest, GivesThePublishedValuesOfXxh3) {
  const struct {
    std::size_t size;
    Digest digest;  // of the first `size` sanity bytes, without seed
  } cases[] = {
      {0, {0x99aa06d3014798d8, 0x6001c324468d497f}},    {1, {0xa6cd5e9392000f6a, 0xc44bdff4074eecdb}},
      {6, {0x082afe0b8162d12a, 0x3e7039bdda43cfc6}},    {12, {0x6e3efd8fc7802b18, 0x061a192713f69ad9}},
      {24, {0x0ce966e4678d3761, 0x1e7044d28b1b901d}},   {48, {0xa002ac4e5478227e, 0xf942219aed80f67b}},
      {81, {0x4952f58181ab0042, 0x5e8bafb9f95fb803}},   {222, {0x337e09641b948717, 0xf1aebd597cec6b3a}},
      {403, {0x1b6de21e332dd73d, 0xcdeb804d65c6dea4}},  {512, {0x18d2d110dcc9bca1, 0x617e49599013cb6b}},
      {2048, {0xf736557fd47073a5, 0xdd59e2c3a5f038e0}}, {2240, {0xccb134fbfa7ce49d, 0x6e73a90539cf2948}},
      {2367, {0xe89c0f6ff369b427, 0xcb37aeb9e5d361ed}},
  };
  for (const auto& test : cases) EXPECT_EQ(DigestOf(SanityBytes(test.size)), test.digest) << test.size;
}

TEST(DigestTest, AStreamHashesAsTheWhole) {
  const std::string bytes = SanityBytes(10'000);
  for (const std::size_t step : {1u, 7u, 64u, 255u, 256u, 257u, 4096u}) {
    Hasher hasher;
    for (std::size_t at = 0; at < bytes.size(); at += step)
      hasher.Update(std::string_view(bytes).substr(at, step));
    EXPECT_EQ(hasher.Finish(), DigestOf(bytes)) << step;
  }
}

TEST(DigestTest, FinishMayBeFollowedByMore) {
  Hasher hasher;
  EXPECT_EQ(hasher.Update("ab").Finish(), DigestOf("ab"));
  EXPECT_EQ(hasher.Update("c").Finish(), DigestOf("abc"));
  EXPECT_EQ(Hasher().Finish(), DigestOf(""));
}

TEST(DigestTest, AMovedHasherGoesOn) {
  Hasher first;
  first.Update("ab");
  Hasher second = std::move(first);
  EXPECT_EQ(second.Update("c").Finish(), DigestOf("abc"));
}

TEST(DigestTest, FieldsDoNotRunTogether) {
  EXPECT_NE(Hasher().UpdateField("ab").UpdateField("c").Finish(),
            Hasher().UpdateField("a").UpdateField("bc").Finish());
  EXPECT_EQ(Hasher().UpdateField("ab").Finish(), DigestOf(std::string_view("\x02\0\0\0\0\0\0\0ab", 10)));
}

TEST(DigestTest, HexGoesBothWays) {
  const Digest digest = {0x0123456789abcdef, 0xf0};
  EXPECT_EQ(digest.ToHex(), "0123456789abcdef00000000000000f0");
  EXPECT_EQ(Digest::FromHex(digest.ToHex()), digest);
  for (const char* bad : {"", "0123456789abcdef00000000000000f", "0123456789abcdef00000000000000f00",
                          "0123456789abcdeg00000000000000f0", "-123456789abcdef00000000000000f0",
                          "0x23456789abcdef00000000000000f0", " 123456789abcdef00000000000000f0"})
    EXPECT_EQ(Digest::FromHex(bad), std::nullopt) << bad;
}

TEST(DigestTest, OnlyAllZeroIsNone) {
  EXPECT_TRUE(Digest().empty());
  EXPECT_FALSE(DigestOf("").empty());
  EXPECT_FALSE((Digest{0, 1}).empty());
}

TEST(DigestTest, Hash64GivesThePublishedValuesAndDependsOnTheSeed) {
  EXPECT_EQ(Hash64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(Hash64(SanityBytes(1)), 0xc44bdff4074eecdbu);
  EXPECT_NE(Hash64("a", 1), Hash64("a", 2));
}

}  // namespace
}  // namespace pipeline
