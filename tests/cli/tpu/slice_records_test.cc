#include "cli/tpu/slice_records.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/memory_store.h"

namespace pipeline {
namespace {

SliceIntent SomeIntent(std::uint64_t number) {
  SliceIntent intent;
  intent.number = number;
  intent.refusals = 3;
  intent.order.name = "pipe-mine-7";
  intent.order.project = "corpus";
  intent.order.zone = "us-central1-a";
  intent.order.type = *ParseSliceType("2xv5e-16");
  intent.order.spot = false;
  intent.order.network = "inner";
  intent.order.external_ips = false;
  intent.order.most_seconds = 86'400;
  intent.order.wait_seconds = 1'800;
  intent.order.labels = {{kSliceLabel, "mine"}, {kKeyLabel, "0123"}};
  return intent;
}

TEST(SliceRecordsTest, AnIntentIsReadAsItWasWritten) {
  MemoryStore store;
  const SliceRecords records(store, "0123");
  EXPECT_FALSE(records.Read({})->open());
  ASSERT_TRUE(records.Begin(SomeIntent(7), {}).ok());
  const Result<NewestAttempt> newest = records.Read({});
  ASSERT_TRUE(newest.ok()) << newest.status().message();
  EXPECT_TRUE(newest->open());
  EXPECT_EQ(newest->number, 7u);
  EXPECT_EQ(newest->intent->refusals, 3u);
  EXPECT_EQ(newest->intent->order, SomeIntent(7).order);
}

TEST(SliceRecordsTest, TheNewestIntentDecidesAndItsEndClosesIt) {
  MemoryStore store;
  const SliceRecords records(store, "0123");
  ASSERT_TRUE(records.Begin(SomeIntent(9), {}).ok());
  ASSERT_TRUE(records.End({9, "capacity", "There is no more capacity"}, {}).ok());
  EXPECT_FALSE(records.Read({})->open());
  EXPECT_EQ(records.Read({})->end->said, "There is no more capacity");
  ASSERT_TRUE(records.Begin(SomeIntent(10), {}).ok());
  EXPECT_TRUE(records.Read({})->open());
  EXPECT_EQ(records.Read({})->number, 10u);
  ASSERT_TRUE(records.End({10, "down", ""}, {}).ok());
  EXPECT_TRUE(records.End({10, "lost", ""}, {}).ok());  // after a request whose answer was lost
  EXPECT_EQ(records.Read({})->end->reason, "down");
}

TEST(SliceRecordsTest, ANumberIsTakenOnce) {
  MemoryStore store;
  const SliceRecords records(store, "0123");
  ASSERT_TRUE(records.Begin(SomeIntent(1), {}).ok());
  EXPECT_EQ(records.Begin(SomeIntent(1), {}).code(), Code::kAlreadyExists);
}

TEST(SliceRecordsTest, DamagedAndNewerObjectsAreRefusedByName) {
  MemoryStore store;
  const SliceRecords records(store, "0123");
  for (const std::string& text :
       {std::string(
            R"({"api_type":"v3-8","image":"i","labels":{},"most_seconds":1,"name":"n","number":1,)"
            R"("pipe_tpu_intent":1,"project":"p","slices":1,"type":"v3-8","wait_seconds":1,"zone":"z"})"),
        std::string(
            R"({"api_type":"v3-8","image":"i","labels":{"pipe-slice":"a","pipe-key":"b"},"most_seconds":1,)"
            R"("name":"n","number":1,"pipe_tpu_intent":1,"project":"p","slices":0,"type":"v3-8",)"
            R"("wait_seconds":1,"zone":"z"})")}) {
    ASSERT_TRUE(WriteObject(store, "000001.json", text, Condition::ReplaceAny()).ok());
    EXPECT_EQ(records.Read({}).status().code(), Code::kDataLoss) << text;
  }
  for (const char* text :
       {"", "{", "[]", "{\"pipe_tpu_intent\":1}", "{\"pipe_tpu_intent\":2,\"number\":1}"}) {
    ASSERT_TRUE(WriteObject(store, "000001.json", text, Condition::ReplaceAny()).ok());
    const Status refused = records.Read({}).status();
    EXPECT_FALSE(refused.ok()) << text;
    EXPECT_NE(std::string(refused.message()).find("000001.json"), std::string::npos) << refused.message();
  }
}

}  // namespace
}  // namespace pipeline
