#include "dag/package/submission.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"

namespace pipeline {
namespace {

Submission From(std::string host) { return {"slurm", "", "/srv/submit", std::move(host), 3}; }

TEST(SubmissionTest, OfTwoCallsAtOnceOneStartsTheWorkers) {
  MemoryStore package;
  Submission a = From("a"), b = From("b");
  ASSERT_TRUE(WriteSubmission(package, a, {}).ok());
  EXPECT_EQ(WriteSubmission(package, b, {}).code(), Code::kFailedPrecondition);
  a.job = "7";
  ASSERT_TRUE(WriteSubmission(package, a, {}).ok()) << "it is its own";
  EXPECT_EQ((*ReadSubmission(package, {}))->job, "7");
}

TEST(SubmissionTest, OfTwoCallsThatFindADeadOneEachReplacesWhatItHasSeen) {
  MemoryStore package;
  Submission dead = From("dead");
  ASSERT_TRUE(WriteSubmission(package, dead, {}).ok());
  Submission a = From("a"), b = From("b");
  a.version = b.version = (*ReadSubmission(package, {}))->version;
  ASSERT_TRUE(WriteSubmission(package, a, {}).ok());
  EXPECT_EQ(WriteSubmission(package, b, {}).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(RemoveSubmission(package, dead).ok());
  EXPECT_EQ((*ReadSubmission(package, {}))->host, "a") << "a late removal is of the dead one alone";
  ASSERT_TRUE(RemoveSubmission(package, a).ok());
  EXPECT_FALSE(ReadSubmission(package, {})->has_value());
  EXPECT_EQ(WriteSubmission(package, a, {}).code(), Code::kFailedPrecondition)
      << "--cancel removed it meanwhile";
}

TEST(SubmissionTest, ADamagedOneIsNamed) {
  MemoryStore package;
  for (const std::string text : {"", "{", "{}", "{\"pipe_submit\":1}"}) {
    ASSERT_TRUE(WriteObject(package, kSubmissionName, text, Condition::ReplaceAny()).ok());
    const Status why = ReadSubmission(package, {}).status();
    EXPECT_EQ(why.code(), Code::kDataLoss) << text;
    EXPECT_TRUE(why.message().starts_with("submit.json: ")) << why.message();
  }
  ASSERT_TRUE(WriteObject(package, kSubmissionName, "{\"pipe_submit\":2}", Condition::ReplaceAny()).ok());
  EXPECT_EQ(ReadSubmission(package, {}).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace pipeline
