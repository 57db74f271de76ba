#include "dag/pipeline_file/stage_type.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(StageTypeTest, OnlySinksAndJobsPublish) {
  StageType type;
  for (const auto& kind : {decltype(type.kind)(TransformKind{}),
                           {FileListKind{}},
                           {SourceKind{}},
                           {ReaderKind{}},
                           {BarrierKind{}}}) {
    type.kind = kind;
    EXPECT_FALSE(type.publishes() || type.needs_out()) << kind.index();
    EXPECT_EQ(type.names(), nullptr) << kind.index();
  }
  type.kind = SinkKind{};
  EXPECT_TRUE(type.publishes() && type.needs_out());
  EXPECT_EQ(type.names(), &type.sink()->names);
  type.kind = JobKind{};
  EXPECT_TRUE(type.publishes() && type.needs_out());
  EXPECT_EQ(type.names(), &type.job()->names);
  type.kind = JobKind{.out_optional = true};
  EXPECT_TRUE(type.publishes() && !type.needs_out());
}

TEST(StageTypeTest, AHookThatIsLeftOutHasAnEmptyAnswer) {
  const Json config;
  StageType type;
  for (const auto& kind : {decltype(type.kind)(TransformKind{}), {SourceKind{}}, {SinkKind{}}, {JobKind{}}}) {
    type.kind = kind;
    EXPECT_EQ(type.location(config), "");
    EXPECT_EQ(type.model_memory(config), 0u);
    EXPECT_EQ(type.promises(config, {}).Dump(), "{}");
  }
}

TEST(StageTypeTest, AHookOfTheKindAnswers) {
  const Json config;
  StageType type;
  type.kind = TransformKind{.model_memory = [](const Json&) { return std::uint64_t{3}; }};
  EXPECT_EQ(type.model_memory(config), 3u);
  type.kind = SinkKind{.location = [](const Json&) { return "name/1.0.0"; },
                       .model_memory = [](const Json&) { return std::uint64_t{4}; }};
  EXPECT_EQ(type.location(config), "name/1.0.0");
  EXPECT_EQ(type.model_memory(config), 4u);
  type.kind = JobKind{.promises = [](const Json&, const Schema&) {
    Json facts;
    facts["size"] = 5;
    return facts;
  }};
  EXPECT_EQ(type.promises(config, {}).Dump(), R"({"size":5})");
}

}  // namespace
}  // namespace pipeline
