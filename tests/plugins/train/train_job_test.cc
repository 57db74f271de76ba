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
  return request;
}

TEST(TrainJobTest, ModelToBeginWithIsAPathOfThisMachine) {
  Json request = Request();
  EXPECT_EQ(ParseTrainJob(request.Dump())->init_from, "");
  request["inputs"]["init_from"]["uri"] = "/models/bert/model.safetensors";
  EXPECT_EQ(ParseTrainJob(request.Dump())->init_from, "/models/bert/model.safetensors");
  request["inputs"]["init_from"]["uri"] = "gs://bucket/runs/train-1";
  const Status status = ParseTrainJob(request.Dump()).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 35), "init_from: gs://bucket/runs/train-1");
}

}  // namespace
}  // namespace pipeline
