#include "plugins/train/train_job.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

Json Request() {
  Json request;
  request["stage"] = "train";
  request["recipe"] = std::string(32, 'a');
  request["config"]["steps"] = 1;
  request["out"]["uri"] = "/out";
  request["inputs"]["data"]["uri"] = "/packed";
  request["inputs"]["tokenizer"]["uri"] = "/tokenizer";
  request["inputs"]["tokenizer"]["manifest"] = "/tokenizer/MANIFEST.json";
  return request;
}

TEST(TrainJobTest, ModelToBeginWithIsAPathOfThisMachine) {
  Json request = Request();
  EXPECT_EQ(ParseTrainJob(request)->init_from, "");
  request["inputs"]["init_from"]["uri"] = "/models/bert/model.safetensors";
  EXPECT_EQ(ParseTrainJob(request)->init_from, "/models/bert/model.safetensors");
}

TEST(TrainJobTest, ModelOfARunInABucketIsBroughtHere) {
  Json request = Request();
  request["inputs"]["init_from"]["uri"] = "gs://bucket/runs/train-1";
  request["inputs"]["init_from"]["manifest"] = "gs://bucket/runs/train-1/MANIFEST.json";
  EXPECT_EQ(ParseTrainJob(request).status().code(), Code::kUnimplemented) << "no place for a copy";
  request["kept"] = "/kept";
  const Result<TrainJob> job = ParseTrainJob(request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->init_uri, "gs://bucket/runs/train-1");
  EXPECT_EQ(job->init_from, "") << "before it is brought";
}

TEST(TrainJobTest, TokenizerMayBeAFileOfThisMachine) {
  Json request = Request();
  EXPECT_EQ(ParseTrainJob(request)->tokenizer_dir, "/tokenizer");
  Json& tokenizer = request["inputs"]["tokenizer"];
  tokenizer = Json();
  tokenizer["uri"] = "/runs/train-1/export/tokenizer.model";
  const Result<TrainJob> job = ParseTrainJob(request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->tokenizer_dir, "/runs/train-1/export");
  EXPECT_EQ(job->tokenizer_manifest, "");
  EXPECT_EQ(job->tokenizer_file, "tokenizer.model");
  tokenizer["uri"] = "/models/bert/vocab.txt";
  EXPECT_EQ(ParseTrainJob(request)->tokenizer_file, "vocab.txt");
  const auto refused = [&](std::string_view uri) {
    tokenizer["uri"] = uri;
    const Status status = ParseTrainJob(request).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(refused("/models/spiece.model"),
            "tokenizer: /models/spiece.model must have the name tokenizer.model or vocab.txt, as in the "
            "directory of a tokenizer and in an export");
  EXPECT_EQ(
      refused("gs://bucket/export/tokenizer.model"),
      "tokenizer: is a URL, and the trainer reads files of this machine; copy the directory here (`pipe "
      "cp`, for a bucket), and write its plain path");
}

}  // namespace
}  // namespace pipeline
