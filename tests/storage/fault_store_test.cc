#include "tests/support/fault_store.h"

#include "storage/memory_store.h"
#include "tests/storage/store_conformance.h"

namespace pipeline {
namespace {

using Call = FaultStore::Call;

class FaultBackend {
 public:
  Store& store() { return store_; }

 private:
  MemoryStore inner_;
  FaultStore store_{inner_};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Fault, StoreReading, FaultBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Fault, StoreConformance, FaultBackend);

class FaultStoreTest : public testing::Test {
 protected:
  Code Write(std::string_view name, std::string_view bytes) {
    return WriteObject(store_, name, bytes, {}).status().code();
  }
  MemoryStore inner_;
  FaultStore store_{inner_};
};

TEST_F(FaultStoreTest, FailsTheNthCallOfAKindOnly) {
  store_.FailNth(Call::kCommit, 2, Status(Code::kUnavailable, "asked for"));
  EXPECT_EQ(Write("a", "1"), Code::kOk);
  EXPECT_EQ(Write("b", "2"), Code::kUnavailable);
  EXPECT_EQ(Write("b", "2"), Code::kOk);
  EXPECT_EQ(store_.calls(Call::kCommit), 3);
}

TEST_F(FaultStoreTest, EveryKindOfCallCanFail) {
  ASSERT_EQ(Write("a", "1"), Code::kOk);
  const Status asked_for(Code::kPermissionDenied, "asked for");
  for (const Call call : {Call::kOpen, Call::kRead, Call::kCreate, Call::kAppend, Call::kCommit, Call::kStat,
                          Call::kList, Call::kRemove, Call::kSweep})
    store_.FailNth(call, 1, asked_for);
  EXPECT_EQ(store_.Open("a").status().code(), asked_for.code());
  EXPECT_EQ(ReadObject(store_, "a", 10).status().code(), asked_for.code());
  EXPECT_EQ(Write("b", "1"), asked_for.code());  // Create
  EXPECT_EQ(Write("b", "1"), asked_for.code());  // Append
  EXPECT_EQ(Write("b", "1"), asked_for.code());  // Commit
  EXPECT_EQ(store_.Stat("a").status().code(), asked_for.code());
  EXPECT_EQ(store_.List("").status().code(), asked_for.code());
  EXPECT_EQ(store_.Remove("a").code(), asked_for.code());
  EXPECT_EQ(store_.Sweep("").code(), asked_for.code());
  EXPECT_EQ(Write("b", "1"), Code::kOk);
}

TEST_F(FaultStoreTest, AFullDiskTakesWhatFitsAndNothingOfItIsSeen) {
  store_.FillDiskAfter(5);
  EXPECT_EQ(Write("a", "123"), Code::kOk);
  EXPECT_EQ(Write("b", "456"), Code::kResourceExhausted);
  EXPECT_EQ(inner_.List("")->size(), 1u);
}

TEST_F(FaultStoreTest, AWriterThatFailedDoesNotCommit) {
  store_.FailNth(Call::kAppend, 1, Status(Code::kUnavailable, "asked for"));
  const auto writer = store_.Create("a", {});
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE((*writer)->Append("1").ok());
  EXPECT_FALSE((*writer)->Append("2").ok());
  EXPECT_EQ((*writer)->Commit().status().code(), Code::kUnavailable);
  EXPECT_TRUE(inner_.List("")->empty());
}

TEST_F(FaultStoreTest, ALostAnswerLeavesTheObject) {
  store_.LoseAnswerOfCommit(1);
  EXPECT_EQ(Write("a", "1"), Code::kUnavailable);
  EXPECT_EQ(Write("a", "1"), Code::kAlreadyExists);
}

TEST_F(FaultStoreTest, ShortReadsGiveTheSameBytes) {
  ASSERT_EQ(Write("a", "12345"), Code::kOk);
  store_.LimitReads(2);
  EXPECT_EQ(ReadObject(store_, "a", 10).value(), "12345");
  EXPECT_EQ(store_.calls(Call::kRead), 3);
}

TEST_F(FaultStoreTest, APowerCutDropsWhatWasNotCommitted) {
  ASSERT_EQ(Write("a", "committed"), Code::kOk);
  const auto before = store_.Create("b", {});
  const auto file = store_.Open("a");
  ASSERT_TRUE(before.ok() && file.ok());
  store_.CutPowerAt(Call::kCommit, 1);
  EXPECT_EQ(Write("c", "lost"), Code::kUnavailable);
  EXPECT_EQ(store_.List("").status().code(), Code::kUnavailable);

  store_.RestorePower();
  EXPECT_EQ((*before)->Commit().status().code(), Code::kUnavailable) << "a writer from before";
  const auto reader = (*file)->Open(0, {});
  std::string byte(1, '\0');
  EXPECT_EQ((*reader)->Read(byte).status().code(), Code::kUnavailable) << "a file from before";
  ASSERT_EQ(store_.List("")->size(), 1u);
  EXPECT_EQ(ReadObject(store_, "a", 100).value(), "committed");
}

}  // namespace
}  // namespace pipeline
