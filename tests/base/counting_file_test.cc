#include "base/counting_file.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

TEST(CountingFileTest, TellsTheBytesOfEachReadOfEachReader) {
  std::vector<std::size_t> told;
  const CountingFile file(std::make_shared<MemoryFile>(std::string(10, 'x')),
                          [&told](std::size_t bytes) { told.push_back(bytes); });
  EXPECT_EQ(file.size(), 10u);
  std::string out(4, '\0');
  const auto front = file.Open(0, {});
  ASSERT_TRUE(front.ok());
  EXPECT_EQ(*(*front)->Read(out), 4u);
  const auto back = file.Open(8, {});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*(*back)->Read(out), 2u);
  EXPECT_EQ(*(*back)->Read(out), 0u);
  EXPECT_EQ(told, (std::vector<std::size_t>{4, 2, 0}));
}

TEST(CountingFileTest, AReaderMayOutliveIt) {
  std::size_t told = 0;
  std::unique_ptr<ByteReader> reader;
  {
    const CountingFile file(std::make_shared<MemoryFile>(std::string(3, 'x')),
                            [&told](std::size_t bytes) { told += bytes; });
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
