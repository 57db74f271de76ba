#include "cli/terminal/machine_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/str.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

class MachineMemoryTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    WriteFile(file.string(), text);
  }
  void Machine(std::uint64_t gib) {
    Write("proc/meminfo", StrCat("MemFree:  12 kB\nMemTotal:       ", gib << 20, " kB\n"));
  }
  MachineMemory Found() { return FindMachineMemory(root_.path().string()); }

  TempDir root_;
};

TEST_F(MachineMemoryTest, IsThatOfTheMachineWhereNoCgroupBoundsIt) {
  Machine(24);
  EXPECT_EQ(Found().bytes, 24 * kGib);
  Write("proc/self/cgroup", "0::/user.slice/x\n");
  Write("sys/fs/cgroup/user.slice/x/memory.max", "max\n");
  EXPECT_EQ(Found().bytes, 24 * kGib);
  EXPECT_EQ(Found().of, "this machine");
}

TEST_F(MachineMemoryTest, IsTheLeastThatACgroupOnTheWayLeaves) {
  Machine(24);
  Write("proc/self/cgroup", "0::/a/b/c\n");
  Write("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  Write("sys/fs/cgroup/a/b/memory.max", StrCat(3 * kGib, "\n"));
  Write("sys/fs/cgroup/a/memory.max", StrCat(7 * kGib, "\n"));
  EXPECT_EQ(Found().bytes, 3 * kGib);
  EXPECT_EQ(Found().of, "the cgroup /a/b");
}

TEST_F(MachineMemoryTest, KnowsTheFirstVersionOfCgroups) {
  Machine(24);
  Write("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n");
  Write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", StrCat(2 * kGib, "\n"));
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Found().bytes, 2 * kGib);
}

TEST_F(MachineMemoryTest, WhatCannotBeReadBoundsNothing) {
  EXPECT_TRUE(Fits(500 * kGib, Found()));
  Write("proc/meminfo", "MemTotal: many kB\n");
  Write("proc/self/cgroup", "nonsense\n0::no path\n0::/gone\n");
  EXPECT_TRUE(Fits(500 * kGib, Found()));
}

TEST_F(MachineMemoryTest, TheKernelsShareOfAMachineIsForgivenAndNothingInACgroup) {
  const MachineMemory machine{4 * kGib - kGib / 4, "this machine"};
  EXPECT_TRUE(Fits(4 * kGib, machine));
  EXPECT_FALSE(Fits(5 * kGib, machine));
  const MachineMemory group{4 * kGib - 1, "the cgroup /a"};
  EXPECT_TRUE(Fits(4 * kGib - 1, group));
  EXPECT_FALSE(Fits(4 * kGib, group));
}

}  // namespace
}  // namespace pipeline
