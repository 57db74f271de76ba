#include "dag/pipeline_file/subset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {
namespace {

TEST(SubsetTest, ANumberIsABeginning) {
  const Result<Subset> subset = ParseSubset("5000");
  ASSERT_TRUE(subset.ok());
  EXPECT_EQ(subset->documents, 5000u);
  EXPECT_TRUE(subset->is_beginning());
  EXPECT_TRUE(subset->Has(Hash64("any")));
}

TEST(SubsetTest, APercentageHoldsAboutThatManyDocuments) {
  for (const auto& [text, share] : {std::pair("1%", 0.01), {"12.5%", 0.125}, {"100%", 1.0}}) {
    const Result<Subset> subset = ParseSubset(text);
    ASSERT_TRUE(subset.ok()) << text;
    EXPECT_FALSE(subset->is_beginning());
    constexpr int kDocuments = 100'000;
    int held = 0;
    for (int i = 0; i < kDocuments; ++i) held += subset->Has(Hash64(StrCat("document ", i))) ? 1 : 0;
    EXPECT_NEAR(held, share * kDocuments, 3 * std::sqrt(share * kDocuments)) << text;
  }
}

TEST(SubsetTest, ASmallerOneIsPartOfALargerOne) {
  const Result<Subset> small = ParseSubset("1%"), large = ParseSubset("2%");
  ASSERT_TRUE(small.ok() && large.ok());
  for (std::uint64_t i = 0; i < 100'000; ++i)
    if (small->Has(i)) {
      EXPECT_TRUE(large->Has(i));
    }
}

TEST(SubsetTest, OtherTextsAreRefused) {
  for (const char* text :
       {"", "0", "0%", "-1", "101%", "1e3", "1.5", "%", "nan%", "1 %", "0x10", "1%%", "5k"})
    EXPECT_EQ(ParseSubset(text).status().code(), Code::kInvalidArgument) << text;
}

TEST(SubsetTest, AppliesToWhatReadsAndWhatIsPublished) {
  StageType reads;
  reads.name = "reads";
  reads.keys = {{"subset", ValueType::kString, "~", ""}};
  reads.kind = SourceKind{};
  StageType writes;
  writes.name = "writes";
  writes.kind = SinkKind{};
  PipelineSpec spec;
  for (const auto& [name, type, out] : {std::tuple("a", &reads, ""),
                                        {"b", &writes, "gs://bucket/x"},
                                        {"c", &writes, "y/"},
                                        {"d", &writes, "file:///z"}}) {
    StageSpec& stage = spec.stages.emplace_back();
    stage.name = name;
    stage.type = type;
    stage.out = out;
  }
  ASSERT_TRUE(ApplySubset("1%", spec).ok());
  EXPECT_EQ(spec.stages[0].config["subset"].AsString(), "1%");
  EXPECT_FALSE(spec.stages[1].config.Has("subset"));
  EXPECT_EQ(spec.stages[1].out, "gs://bucket/x/subset-1%");
  EXPECT_EQ(spec.stages[2].out, "y/subset-1%");
  EXPECT_EQ(spec.stages[3].out, "file:///z/subset-1%25");
}

TEST(SubsetTest, ASourceThatCannotBeReadInPartIsNamed) {
  StageType whole;
  whole.name = "whole";
  whole.kind = SourceKind{};
  PipelineSpec spec;
  StageSpec& stage = spec.stages.emplace_back();
  stage.name = "s";
  stage.type = &whole;
  EXPECT_NE(ApplySubset("5", spec).message().find("'s' (whole)"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
