
#include <gtest/gtest.h>

#include "base/str.h"
#include "plugins/train/hosts/host_address.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {
namespace {

using Nodes = std::vector<std::string>;

struct Expansion {
  const char* list;
  Nodes nodes;
};
class NodeListExpansionTest : public testing::TestWithParam<Expansion> {};

TEST_P(NodeListExpansionTest, IsThatOfSlurm) {
  const Result<Nodes> nodes = ParseNodeList(GetParam().list);
  ASSERT_TRUE(nodes.ok()) << nodes.status().message();
  EXPECT_EQ(*nodes, GetParam().nodes);
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeListExpansionTest,
    testing::Values(Expansion{"node001", {"node001"}}, Expansion{"10-0-3-12", {"10-0-3-12"}},
                    Expansion{"node001,host2", {"node001", "host2"}},
                    Expansion{"tpu[01-03,7],gpu-2", {"tpu01", "tpu02", "tpu03", "tpu7", "gpu-2"}},
                    Expansion{"r[1-2]n[01-02]", {"r1n01", "r1n02", "r2n01", "r2n02"}},
                    Expansion{"n[8-11]", {"n8", "n9", "n10", "n11"}},
                    Expansion{"n[098-0100]", {"n098", "n099", "n100"}},
                    Expansion{"rack[1-2]-eth0", {"rack1-eth0", "rack2-eth0"}},
                    Expansion{"[1-2,5]", {"1", "2", "5"}}, Expansion{"n[2,1]", {"n2", "n1"}},
                    Expansion{"a, b", {"a", "b"}}));

struct ListMistake {
  const char* list;
  const char* reason;
};
class NodeListMistakeTest : public testing::TestWithParam<ListMistake> {};

TEST_P(NodeListMistakeTest, IsRefusedWithItsReason) {
  const Result<Nodes> nodes = ParseNodeList(GetParam().list);
  ASSERT_FALSE(nodes.ok());
  EXPECT_EQ(nodes.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(nodes.status().message(), GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeListMistakeTest,
    testing::Values(ListMistake{"", "an entry is empty"}, ListMistake{"a,,b", "an entry is empty"},
                    ListMistake{"a,", "an entry is empty"}, ListMistake{"a[1-2", "a bracket has no end"},
                    ListMistake{"a1-2]", "a bracket ends and does not begin"},
                    ListMistake{"a[1-[2]]", "a bracket begins inside of another"},
                    ListMistake{"a[3-1]", "the range `3-1` ends before it begins"},
                    ListMistake{"a[]", "`` in its brackets is no number and no range of numbers"},
                    ListMistake{"a[1,]", "`` in its brackets is no number and no range of numbers"},
                    ListMistake{"a[1-]", "`1-` in its brackets is no number and no range of numbers"},
                    ListMistake{"a[-1]", "`-1` in its brackets is no number and no range of numbers"},
                    ListMistake{"a[1-2-3]", "`1-2-3` in its brackets is no number and no range of numbers"},
                    ListMistake{"a[0x1]", "`0x1` in its brackets is no number and no range of numbers"},
                    ListMistake{"a[9999999999999999999]",
                                "`9999999999999999999` in its brackets is no number and no range of numbers"},
                    ListMistake{"a b", "`a b` is no part of a node's name"},
                    ListMistake{"a\x1b[1]", "`a?` is no part of a node's name"}));

TEST(NodeListTest, MostHostsFitAndOneMoreIsRefusedBeforeItIsMade) {
  EXPECT_EQ(ParseNodeList(StrCat("n[1-", kMostHosts, "]"))->size(), std::size_t{kMostHosts});
  EXPECT_EQ(ParseNodeList(StrCat("n[1-", kMostHosts - 1, "],other"))->back(), "other");
  for (const std::string list :
       {"[1-999999999]", "[0-999999999999999999]", "n[1-4096],other", "[1-4096,1]", "[1-64]x[1-65]",
        "[1-4000],[1-97]", "[1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9][1-9]"}) {
    const Result<Nodes> nodes = ParseNodeList(list);
    ASSERT_FALSE(nodes.ok()) << list;
    EXPECT_EQ(nodes.status().message(), "it lists more than 4096 nodes") << list;
  }
}

TEST(NodeListTest, LongNamesTakeNoMemory) {
  const std::string longest(kLongestHostName - 4, 'x');
  EXPECT_TRUE(ParseNodeList("[1000-1999]" + longest).ok());
  std::string many = "[1-4096]";
  for (int part = 0; part < 20'000; ++part) many += "x[1]";
  for (const std::string& list : {"[1000-1999]x" + longest, many}) {
    const Result<Nodes> nodes = ParseNodeList(list);
    ASSERT_FALSE(nodes.ok());
    EXPECT_EQ(nodes.status().message(), "a name is longer than 253 characters");
  }
  EXPECT_FALSE(ParseNodeList(std::string(1'000'000, 'x')).ok());
}

}  // namespace
}  // namespace pipeline
