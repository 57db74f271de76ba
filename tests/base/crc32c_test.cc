#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

std::string Counting(int from, int to) {
  std::string bytes;
  for (int i = from; i != to; i += from < to ? 1 : -1) bytes.push_back(static_cast<char>(i));
  return bytes;
}

TEST(Crc32cTest, GivesTheValuesOfRfc3720) {
  const std::string scsi_read_command = {'\x01', '\xc0', 0, 0,      0, 0,      0,      0, 0, 0,      0, 0, 0,
                                         0,      0,      0, '\x14', 0, 0,      0,      0, 0, '\x04', 0, 0, 0,
                                         0,      '\x14', 0, 0,      0, '\x18', '\x28', 0, 0, 0,      0, 0, 0,
                                         0,      '\x02', 0, 0,      0, 0,      0,      0, 0};
  const struct {
    std::string bytes;
    std::uint32_t crc;
  } cases[] = {
      {"", 0},
      {"123456789", 0xe3069283},
      {std::string(32, '\0'), 0x8a9136aa},
      {std::string(32, '\xff'), 0x62a8ab43},
      {Counting(0, 32), 0x46dd794e},
      {Counting(31, -1), 0x113fdb5c},
      {scsi_read_command, 0xd9963a56},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(Crc32c(test.bytes), test.crc);
    EXPECT_EQ(Crc32cPortable(test.bytes), test.crc);
  }
}

// The processor's instruction up to 1 KiB, the library above: both against the table, at every size
// around their border and at every alignment.
TEST(Crc32cTest, AllImplementationsAgree) {
  std::string bytes(3000 + 16, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((i * i * 31 + i) >> 3);
  for (std::size_t size = 0; size <= 3000; ++size) {
    const std::string_view part = std::string_view(bytes).substr(size % 16, size);
    ASSERT_EQ(Crc32c(part), Crc32cPortable(part)) << size;
  }
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (const std::size_t size : {1u, 9u, 100u, 1023u, 1024u, 2049u}) {
      const std::string_view part = std::string_view(bytes).substr(offset, size);
      ASSERT_EQ(Crc32c(part, 0x12345678), Crc32cPortable(part, 0x12345678)) << size << " from " << offset;
    }
  }
}

TEST(Crc32cTest, GoesOnFromWhatItCovers) {
  const std::string bytes = Counting(0, 5000);
  for (const std::size_t cut : {0u, 1u, 1000u, 1024u, 3333u, 5000u}) {
    const std::string_view whole = bytes;
    EXPECT_EQ(Crc32c(whole.substr(cut), Crc32c(whole.substr(0, cut))), Crc32c(whole)) << cut;
  }
}

TEST(Crc32cTest, PartsGiveTheWhole) {
  const std::string bytes = Counting(0, 5000);
  for (const std::size_t cut : {0u, 1u, 1000u, 3333u, 4999u, 5000u}) {
    const std::string_view whole = bytes, behind = whole.substr(cut);
    EXPECT_EQ(CombineCrc32c(Crc32c(whole.substr(0, cut)), Crc32c(behind), behind.size()), Crc32c(whole))
        << cut;
  }
}

TEST(Crc32cTest, MasksAsTfRecordDoes) {
  EXPECT_EQ(MaskCrc32c(0xe3069283), 0xc78ab0e5u);
  EXPECT_EQ(MaskCrc32c(0), 0xa282ead8u);
}

}  // namespace
}  // namespace pipeline
