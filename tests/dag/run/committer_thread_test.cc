#include "dag/run/committer_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace pipeline {
namespace {

/// As what segments hand over: it can be moved, not copied, and owns something.
struct Partition {
  std::uint32_t number = 0;
  std::unique_ptr<void, std::function<void(void*)>> owned;
};

Partition Numbered(std::uint32_t number) { return {number, {}}; }

/// A door that `commit` waits at, so that tests decide how far it came.
class Gate {
 public:
  void Open() { open_.set_value(); }
  void Enter() {
    entered_.fetch_add(1);
    entered_.notify_all();
    opened_.wait();
  }
  void AwaitEntered() {
    while (entered_.load() == 0) entered_.wait(0);
  }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_{open_.get_future()};
  std::atomic<int> entered_{0};
};

TEST(CommitterThreadTest, CommitsInOrderOnAThreadOfItsOwn) {
  for (const std::size_t waiting : {0u, 1u, 2u}) {
    std::vector<std::uint32_t> committed;
    std::thread::id committing;
    CommitterThread<Partition> committer(
        [&](Partition partition) {
          committed.push_back(partition.number);
          committing = std::this_thread::get_id();
          return Status();
        },
        waiting);
    for (std::uint32_t number = 0; number < 5; ++number) ASSERT_TRUE(committer.Add(Numbered(number)).ok());
    ASSERT_TRUE(committer.Finish().ok());
    EXPECT_EQ(committed, (std::vector<std::uint32_t>{0, 1, 2, 3, 4})) << waiting << " may wait";
    EXPECT_NE(committing, std::this_thread::get_id());
  }
}

TEST(CommitterThreadTest, AddReturnsWhileThePartitionIsBeingCommitted) {
  Gate gate;
  CommitterThread<Partition> committer(
      [&](Partition) {
        gate.Enter();
        return Status();
      },
      1);
  EXPECT_TRUE(committer.Add(Numbered(0)).ok());
  gate.AwaitEntered();
  EXPECT_TRUE(committer.Add(Numbered(1)).ok());  // waits in the queue; the first is held at the gate
  gate.Open();
  EXPECT_TRUE(committer.Finish().ok());
}

TEST(CommitterThreadTest, AddBlocksWhileAsManyWaitAsMay) {
  Gate gate;
  std::atomic<int> committed{0};
  CommitterThread<Partition> committer(
      [&](Partition) {
        gate.Enter();
        ++committed;
        return Status();
      },
      1);
  ASSERT_TRUE(committer.Add(Numbered(0)).ok());
  gate.AwaitEntered();
  ASSERT_TRUE(committer.Add(Numbered(1)).ok());
  int committed_at_third = -1;
  std::thread third([&] {
    EXPECT_TRUE(committer.Add(Numbered(2)).ok());
    committed_at_third = committed.load();
  });
  gate.Open();
  third.join();
  EXPECT_GE(committed_at_third, 1);
  EXPECT_TRUE(committer.Finish().ok());
  EXPECT_EQ(committed, 3);
}

TEST(CommitterThreadTest, WithNoneWaitingAddReturnsAfterTheCommit) {
  bool committed = false;
  CommitterThread<Partition> committer(
      [&](Partition) {
        committed = true;
        return Status();
      },
      0);
  EXPECT_TRUE(committer.Add(Numbered(0)).ok());
  EXPECT_TRUE(committed);
}

TEST(CommitterThreadTest, TheFirstErrorIsKeptAndLaterPartitionsAreDropped) {
  std::vector<std::uint32_t> committed;
  CommitterThread<Partition> committer(
      [&](Partition partition) {
        committed.push_back(partition.number);
        if (partition.number == 1) return Status(Code::kDataLoss, "the log cannot be written");
        return Status();
      },
      0);
  EXPECT_TRUE(committer.Add(Numbered(0)).ok());
  EXPECT_EQ(committer.Add(Numbered(1)).message(), "the log cannot be written");
  EXPECT_EQ(committer.Add(Numbered(2)).code(), Code::kDataLoss);
  EXPECT_EQ(committer.Finish().message(), "the log cannot be written");
  EXPECT_EQ(committed, (std::vector<std::uint32_t>{0, 1}));
}

TEST(CommitterThreadTest, AnErrorWakesWhoWaitsForRoom) {
  Gate gate;
  CommitterThread<Partition> committer(
      [&](Partition) {
        gate.Enter();
        return Status(Code::kDataLoss, "no");
      },
      1);
  ASSERT_TRUE(committer.Add(Numbered(0)).ok());
  gate.AwaitEntered();
  ASSERT_TRUE(committer.Add(Numbered(1)).ok());
  Status third;
  std::thread adding([&] { third = committer.Add(Numbered(2)); });
  gate.Open();
  adding.join();
  EXPECT_EQ(third.code(), Code::kDataLoss);
}

TEST(CommitterThreadTest, DestructionWaitsForTheOneThatBeganAndDropsTheOthers) {
  Gate gate;
  std::atomic<int> committed{0};
  {
    CommitterThread<Partition> committer(
        [&](Partition) {
          gate.Enter();
          ++committed;
          return Status();
        },
        2);
    ASSERT_TRUE(committer.Add(Numbered(0)).ok());
    gate.AwaitEntered();
    Partition waits = Numbered(1);
    waits.owned = {&gate, [](void* owned) { static_cast<Gate*>(owned)->Open(); }};
    ASSERT_TRUE(committer.Add(std::move(waits)).ok());
    ASSERT_TRUE(committer.Add(Numbered(2)).ok());
  }
  EXPECT_EQ(committed, 1);
}

}  // namespace
}  // namespace pipeline
