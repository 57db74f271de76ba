#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

TEST(CountingFileTest, TellsTheBytesOfEachReadOfEachReader) {
  std::vector<std::pair<std::uint64_t, std::size_t>> told;
  const CountingFile file(
      std::make_shared<MemoryFile>(std::string(10, 'x')),
      [&told](std::uint64_t offset, std::string_view bytes) { told.emplace_back(offset, bytes.size()); });
  EXPECT_EQ(file.size(), 10u);
  std::string out(4, '\0');
  const auto front = file.Open(0, {});
  ASSERT_TRUE(front.ok());
  EXPECT_EQ(*(*front)->Read(out), 4u);
  const auto back = file.Open(8, {});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*(*back)->Read(out), 2u);
  EXPECT_EQ(*(*back)->Read(out), 0u);
  EXPECT_EQ(told, (std::vector<std::pair<std::uint64_t, std::size_t>>{{0, 4}, {8, 2}, {10, 0}}));
}

TEST(CountingFileTest, AReaderMayOutliveIt) {
  std::size_t told = 0;
  std::unique_ptr<ByteReader> reader;
  {
    const CountingFile file(std::make_shared<MemoryFile>(std::string(3, 'x')),
                            [&told](std::uint64_t, std::string_view bytes) { told += bytes.size(); });
    auto opened = file.Open(0, {});
    ASSERT_TRUE(opened.ok());
    reader = std::move(*opened);
  }
  std::string out(4, '\0');
  EXPECT_EQ(*reader->Read(out), 3u);
  EXPECT_EQ(told, 3u);
}

}  // namespace
}  // namespace pipeline
