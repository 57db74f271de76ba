#include "storage/remote/http/checksum_hasher.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

std::string Of(Checksum::Kind kind, std::string_view first, std::string_view second = {}) {
  ChecksumHasher hasher(kind);
  hasher.Update(first);
  hasher.Update(second);
  const Result<Checksum> checksum = hasher.Finish();
  return checksum.ok() ? ToString(*checksum) : std::string(checksum.status().message());
}

TEST(ChecksumHasherTest, AgreesWithTheTools) {
  EXPECT_EQ(Of(Checksum::Kind::kSha256, ""),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Of(Checksum::Kind::kSha256, "abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Of(Checksum::Kind::kMd5, "message digest"), "md5:f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(Of(Checksum::Kind::kCrc32c, "123456789"), "crc32c:e3069283");
  EXPECT_EQ(Of(Checksum::Kind::kCrc32c, ""), "crc32c:00000000");
}

TEST(ChecksumHasherTest, PiecesMakeTheSameAsTheWhole) {
  for (const auto kind : {Checksum::Kind::kSha256, Checksum::Kind::kMd5, Checksum::Kind::kCrc32c})
    EXPECT_EQ(Of(kind, "12345", "6789"), Of(kind, "123456789"));
}

}  // namespace
}  // namespace pipeline
