#include "base/checksum.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

std::string Read(std::string_view text) {
  const Result<Checksum> checksum = ParseChecksum(text);
  return checksum.ok() ? ToString(*checksum) : std::string(checksum.status().message());
}

TEST(ChecksumTest, IsReadAsToolsPrintIt) {
  constexpr std::string_view kSha = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  EXPECT_EQ(Read(kSha), kSha);
  EXPECT_EQ(Read("md5:D41D8CD98F00B204E9800998ECF8427E"), "md5:d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Read("crc32c:e3069283"), "crc32c:e3069283");
}

TEST(ChecksumTest, IsReadAsABucketPrintsIt) {
  EXPECT_EQ(Read("md5:1B2M2Y8AsgTpgAmY7PhCfg=="), "md5:d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Read("crc32c:4waSgw=="), "crc32c:e3069283");
}

TEST(ChecksumTest, WhatIsNoneSaysWhatIsOne) {
  for (const char* text : {"", "e3069283", "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "sha256"})
    EXPECT_EQ(ParseChecksum(text).status().code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(Read("sha1:00"), "'sha1:00' is no checksum; write sha256:DIGITS, md5:DIGITS or crc32c:DIGITS");
  EXPECT_EQ(Read("md5:d41d8cd9"), "'md5:d41d8cd9' is no checksum: behind md5: stand 32 hexadecimal digits");
  for (const char* text : {"crc32c:", "crc32c:e306928", "crc32c:e306928g", "crc32c:4waSgw", "md5:4waSgw=="})
    EXPECT_EQ(ParseChecksum(text).status().code(), Code::kInvalidArgument) << text;
}

}  // namespace
}  // namespace pipeline
