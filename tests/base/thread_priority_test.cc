#include "base/thread_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace pipeline {
namespace {

int Nice() { return getpriority(PRIO_PROCESS, 0); }

TEST(ThreadPriorityTest, ALowThreadIsBelowTheProgramAndChangesNoOther) {
  const int program = Nice();
  const int low = std::min(program + 5, 19);  // 19 is the lowest priority
  int first = 0, again = 0, other = 0;
  std::thread([&] {
    SetThreadPriority(ThreadPriority::kLow);
    first = Nice();
    SetThreadPriority(ThreadPriority::kLow);
    again = Nice();
  }).join();
  std::thread([&] {
    SetThreadPriority(ThreadPriority::kNormal);
    other = Nice();
  }).join();
  EXPECT_EQ(first, low);
  EXPECT_EQ(again, low) << "not lower with each call";
  EXPECT_EQ(other, program);
  EXPECT_EQ(Nice(), program);
}

}  // namespace
}  // namespace pipeline
