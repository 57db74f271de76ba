#include "storage/bundle_file.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/str.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

/// The worked example of storage/bundle_file.md.
const std::string kExample = "abcxy3 0000-00000.spill\n2 0001-00000.spill\npipe bundle 1 00000026 20c34c12\n";

std::string Parts(const std::string& bytes) {
  const Result<std::vector<BundledPart>> parts = ReadBundleParts(StringFile(bytes));
  if (!parts.ok())
    return StrCat(parts.status().code() == Code::kDataLoss ? "" : "?", parts.status().message());
  std::string found;
  for (const BundledPart& part : *parts)
    found += StrCat(part.name, " at ", part.offset, ": ", part.size, "; ");
  return found;
}

TEST(BundleFileTest, WorkedExample) {
  EXPECT_EQ("abcxy" + EncodeBundleEnd(
                          std::vector<BundledPart>{{"0000-00000.spill", 0, 3}, {"0001-00000.spill", 3, 2}}),
            kExample);
  EXPECT_EQ(Parts(kExample), "0000-00000.spill at 0: 3; 0001-00000.spill at 3: 2; ");
}

TEST(BundleFileTest, ALongListIsReadWhole) {
  std::vector<BundledPart> parts;
  std::string bytes;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    parts.push_back({StrCat("object-", number), bytes.size(), number % 3});
    bytes.append(number % 3, 'x');
  }
  const Result<std::vector<BundledPart>> read = ReadBundleParts(StringFile(bytes + EncodeBundleEnd(parts)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 1000u);
  EXPECT_EQ(read->back().name, "object-999");
  EXPECT_EQ(read->back().offset, parts.back().offset);
}

TEST(BundleFileTest, EveryDamageOfTheListIsFound) {
  for (std::size_t at = std::string("abcxy").size(); at < kExample.size(); ++at) {
    std::string damaged = kExample;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_TRUE(Parts(damaged).starts_with("as a bundle, ")) << at << ": " << Parts(damaged);
  }
  for (std::size_t size = 0; size < kExample.size(); ++size)
    EXPECT_TRUE(Parts(kExample.substr(0, size)).starts_with("as a bundle, ")) << size;
  EXPECT_EQ(Parts("more" + kExample), "as a bundle, its parts have other sizes than its list says");
}

TEST(BundleFileTest, AListWithARightChecksumIsCheckedToo) {
  const auto with = [](const std::string& list) {
    char last[64];
    std::snprintf(last, sizeof last, "pipe bundle 1 %08zx %08x\n", list.size(), Crc32c(list));
    return StrCat("ab", list, last);
  };
  EXPECT_EQ(Parts(with("2 a\n")), "a at 0: 2; ");
  for (const std::string list :
       {"2 a", "2\n", "a 2\n", "-2 a\n", "3 a\n", "18446744073709551615 a\n3 b\n", " \n"})
    EXPECT_EQ(Parts(with(list)), "as a bundle, its list is damaged") << list;
  for (const std::string list : {"2 \n", "2 a/b\n", "2 ..\n"})
    EXPECT_EQ(Parts(with(list)), "as a bundle, its list has a name that no part can have") << list;
}

TEST(BundleFileTest, Names) {
  EXPECT_EQ(BundleName("0000-00000.spill", 17), "0000-00000.spill.bundle-17");
  EXPECT_EQ(NumberOfBundle("0000-00000.spill.bundle-17"), 17u);
  for (const std::string_view name : {"a", "a.bundle-", "a.bundle-x", "a.bundle-1x", ".bundle-1",
                                      "d/a.bundle-1", "a.bundle-99999999999999999999"})
    EXPECT_FALSE(NumberOfBundle(name)) << name;
  EXPECT_TRUE(CanBeBundled("0000-00000.spill"));
  EXPECT_FALSE(CanBeBundled("a/b"));
  EXPECT_FALSE(CanBeBundled("a\nb"));
  EXPECT_FALSE(CanBeBundled(".."));
  EXPECT_FALSE(CanBeBundled(std::string(201, 'a')));
}

}  // namespace
}  // namespace pipeline
