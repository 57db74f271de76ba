#include "cli/tpu/slice_type.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

TEST(SliceTypeTest, NamesOfTheApiAndOfPeopleAreTheSameSlice) {
  for (const char* name : {"v5e-16", "v5litepod-16"}) {
    const Result<SliceType> slice = ParseSliceType(name);
    ASSERT_TRUE(slice.ok()) << name;
    EXPECT_EQ(slice->type, "v5litepod-16");
    EXPECT_EQ(slice->Describe(), "v5e-16");
    EXPECT_EQ(slice->image, "v2-alpha-tpuv5-lite");
    EXPECT_TRUE(slice->queued);
  }
}

TEST(SliceTypeTest, OldGenerationsAreNodesAndSeveralSlicesAreQueued) {
  EXPECT_FALSE(ParseSliceType("v3-8")->queued);
  EXPECT_EQ(ParseSliceType("v2-32")->image, "tpu-ubuntu2204-base");
  const Result<SliceType> two = ParseSliceType("2xv4-8");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->slices, 2);
  EXPECT_TRUE(two->queued);
  EXPECT_EQ(two->Describe(), "2xv4-8");
}

TEST(SliceTypeTest, WhatIsNoSliceIsNamedWithTheOnesThatAre) {
  for (const char* name :
       {"", "v3", "v9-8", "v3-", "v3-08", "1xv3-8", "0xv3-8", "xv3-8", "2x", "-8", "v3-8 ", "999xv5e-16"})
    EXPECT_EQ(ParseSliceType(name).status().code(), Code::kInvalidArgument) << name;
  const std::string said(ParseSliceType("v5e-9").status().message());
  EXPECT_NE(said.find("there are v5e-1, v5e-4, v5e-8"), std::string::npos) << said;
}

}  // namespace
}  // namespace pipeline
