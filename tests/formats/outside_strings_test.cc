// The bytes by which our own files are known, which other versions read.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/str.h"
#include "formats/partition_file.h"
#include "formats/spill_file.h"

namespace pipeline {
namespace {

/// The first and the last bytes of a file, and the digest of all.
void AddFile(OutsideStrings& strings, std::string_view kind, std::string_view file) {
  strings.Add(StrCat("first bytes of a ", kind), file.substr(0, 12));
  strings.Add(StrCat("last bytes of a ", kind), file.substr(file.size() - 8));
  strings.Add(StrCat("digest of a ", kind), DigestOf(file).ToHex());
}

TEST(OutsideStringsOfFormatsTest, PartitionAndSpillFile) {
  OutsideStrings strings;
  std::string partition;
  const auto to = [](std::string& file) {
    return [&file](std::string_view bytes) {
      file += bytes;
      return Status();
    };
  };
  const PartitionColumns columns = {{"text", PartitionColumnType::kUtf8},
                                    {"ids", PartitionColumnType::kU32List},
                                    {"split", PartitionColumnType::kU8}};
  PartitionFileWriter writer(columns, to(partition));
  ASSERT_TRUE(writer.Finish({1, 2, 3, 4}).ok());
  AddFile(strings, "partition file", partition);

  std::string spill;
  SpillFileWriter spills(1, 2, {}, to(spill));
  ASSERT_TRUE(spills.BeginSplit(0, 1).ok());
  ASSERT_TRUE(spills.Add({1, 2, 3, "payload"}).ok());
  ASSERT_TRUE(spills.Finish().ok());
  AddFile(strings, "spill file", spill);
  EXPECT_TRUE(ArePinned(strings, "own_formats"));
}

}  // namespace
}  // namespace pipeline
