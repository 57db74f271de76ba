#include "base/process_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/child_process.h"
#include "dag/run/cpu_watch.h"

namespace pipeline {
namespace {

constexpr std::string_view kStat =
    "4711 (a name) (with) marks) S 12 4710 4710 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 3 0 1000 1048576 "
    "256 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";

TEST(ProcessUseTest, StatIsReadBehindTheLastMarkOfItsName) {
  const std::optional<ProcessLook> look = ParseProcessStat(kStat, 100, 4096);
  ASSERT_TRUE(look);
  EXPECT_EQ(look->id, 4711);
  EXPECT_EQ(look->parent, 12);
  EXPECT_EQ(look->group, 4710);
  EXPECT_DOUBLE_EQ(look->cpu, 2.5) << "with what it waited for";
  EXPECT_EQ(look->resident, 256u * 4096);
}

TEST(ProcessUseTest, TextThatIsNoStatIsNone) {
  for (std::size_t cut = 0; cut < kStat.find(" 256 "); ++cut)
    EXPECT_FALSE(ParseProcessStat(kStat.substr(0, cut), 100, 4096)) << cut;
  EXPECT_FALSE(ParseProcessStat("x (y) S 1 2 3", 100, 4096));
  EXPECT_FALSE(ParseProcessStat(kStat, 0, 4096));
  const std::optional<ProcessLook> wild =
      ParseProcessStat("1 (x) S 1 1 1 1 1 1 1 1 1 1 -5 9223372036854775807 0 0 1 1 1 1 1 1 -7 ", 100, 4096);
  ASSERT_TRUE(wild);
  EXPECT_GE(wild->cpu, 0);
  EXPECT_EQ(wild->resident, 0u);
}

TEST(ProcessUseTest, BytesAreTakenByTheirNames) {
  const ProcessBytes bytes = ParseProcessIo(
      "rchar: 11\nwchar: 22\nsyscr: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n");
  EXPECT_EQ(bytes.read, 11u);
  EXPECT_EQ(bytes.written, 22u);
  EXPECT_EQ(bytes.to_disk, 8192u);
  EXPECT_EQ(ParseProcessIo("rchar: -3\nwchar:").read, 0u);
}

TEST(ProcessUseTest, ThisProcessIsAmongThoseOfTheMachine) {
  const std::vector<ProcessLook> all = LookAtProcesses();
  const auto self =
      std::find_if(all.begin(), all.end(), [](const ProcessLook& look) { return look.id == getpid(); });
  ASSERT_NE(self, all.end());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_GT(self->resident, 0u);
}

TEST(ChildLedgerTest, WhatAChildTookIsItsOwners) {
  {
    const ChildOwner outer("tokenizer/-");
    const ChildOwner owner("upper/0000-00001");
    EXPECT_EQ(ChildOwner::Current(), "upper/0000-00001");
    Result<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(
        {.argv = {"sh", "-c",
                  "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; head -c 100000 /dev/zero"}});
    ASSERT_TRUE(child.ok()) << child.status().message();
    EXPECT_EQ(ChildLedger::Get().Living().at((*child)->id()), "upper/0000-00001");
    std::array<char, 4096> buffer;
    while (*(*child)->Read(buffer, {}) > 0) {
    }
    const Result<ChildExit> exit = (*child)->Wait({}, std::chrono::milliseconds(0));
    ASSERT_TRUE(exit.ok() && exit->ok());
    EXPECT_GT(exit->use.cpu, 0);
    EXPECT_GE(exit->use.written, 100'000u) << "by a child of the child";
    EXPECT_FALSE(ChildLedger::Get().Living().contains((*child)->id()));
  }
  EXPECT_EQ(ChildOwner::Current(), "");
  EXPECT_EQ(ChildLedger::Get().EndedOf("tokenizer/-").written, 0u);
  const ProcessUse use = ChildLedger::Get().TakeEnded("upper/0000-00001");
  EXPECT_GT(use.cpu, 0);
  EXPECT_GE(use.written, 100'000u);
  EXPECT_EQ(ChildLedger::Get().TakeEnded("upper/0000-00001").written, 0u) << "taken once";
}

TEST(CpuWatchTest, TimeOfAWaitIsNotCountedAndNestedTimeOnce) {
  std::atomic<std::uint64_t> outer{0}, inner{0};
  const std::uint64_t begin = ThreadCpuNanoseconds();
  {
    const CpuWatch one(outer);
    const CpuWatch two(inner);
    volatile double sum = 0;
    for (int at = 0; at < 2'000'000; ++at) sum = sum + at;
  }
  EXPECT_GT(outer.load(), 0u);
  EXPECT_LE(outer.load(), ThreadCpuNanoseconds() - begin);
  EXPECT_EQ(inner.load(), 0u);
}

}  // namespace
}  // namespace pipeline
