#include "plugins/train/environment/package_install.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"

namespace pipeline {
namespace {

/// Everything that is told about these bytes, which arrive `at_once` at a time.
std::vector<std::string> Told(std::string_view bytes, std::uint64_t all, std::size_t at_once = 1000) {
  std::vector<std::string> told;
  PipProgress progress(all, [&told](std::uint64_t done, std::uint64_t of, std::string_view text) {
    told.push_back(StrCat(done, "/", of, " ", text));
  });
  for (std::size_t at = 0; at < bytes.size(); at += at_once) progress.Append(bytes.substr(at, at_once));
  return told;
}

constexpr std::string_view kOutput =
    "Looking in indexes: x\n"
    "Collecting jax==1.0 (from -r requirements-cpu.txt (line 1))\n"
    "  Downloading jax-1.0-py3-none-any.whl (3.1 MB)\n"
    "Progress 0 of 2048\n"
    "Progress 1024 of 2048\n"
    "Progress 2048 of 2048\n"
    "  Downloading https://host/files/numpy-2.0-cp311.whl (1 kB)\n"
    "Progress 1024 of 1024\n"
    "Installing collected packages: numpy, jax\n";

TEST(PipProgressTest, BytesOfAllFilesAreTold) {
  const std::vector<std::string> expected = {
      "0/4096 downloading jax 1.0: 0 B of 4.00 KiB",
      "0/4096 downloading jax 1.0: 0 B of 4.00 KiB",
      "1024/4096 downloading jax 1.0: 1.00 KiB of 4.00 KiB",
      "2048/4096 downloading jax 1.0: 2.00 KiB of 4.00 KiB",
      "2048/4096 downloading numpy 2.0: 2.00 KiB of 4.00 KiB",
      "3072/4096 downloading numpy 2.0: 3.00 KiB of 4.00 KiB",
      "0/0 installing the packages",
  };
  EXPECT_EQ(Told(kOutput, 4096), expected);
  for (const std::size_t at_once : {1, 7, 100}) EXPECT_EQ(Told(kOutput, 4096, at_once), expected) << at_once;
}

TEST(PipProgressTest, AnUnknownSizeIsNoShare) {
  EXPECT_EQ(Told(kOutput, 0)[2], "1024/0 downloading jax 1.0: 1.00 KiB");
}

TEST(PipProgressTest, MoreBytesThanToldNeverEndTheLine) {
  EXPECT_EQ(Told(kOutput, 2048)[3], "2048/2049 downloading jax 1.0: 2.00 KiB of 2.00 KiB");
}

TEST(PipProgressTest, FilesOfAnEarlierAttemptCount) {
  const std::vector<std::string> told = Told(
      "  Using cached jaxlib-1.0-cp311.whl (1.5 MB)\n  Using cached etils-1.0.whl (2 kB)\n"
      "  Downloading jax-1.0-py3-none-any.whl (3.1 MB)\n",
      2 << 20);
  EXPECT_EQ(told, std::vector<std::string>{"1502000/2097152 downloading jax 1.0: 1.43 MiB of 2.00 MiB"});
}

TEST(PipProgressTest, OtherLinesAreLeftAlone) {
  EXPECT_TRUE(Told("Progress\nProgress x of y\nProgress 5 of\nProgressing 1 of 2\n", 10).empty());
  EXPECT_TRUE(Told(std::string(1 << 20, 'x'), 10).empty());
}

}  // namespace
}  // namespace pipeline
