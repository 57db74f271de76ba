#include <gtest/gtest.h>

#include "plugins/train/hosts/slice_attributes.h"

namespace pipeline {
namespace {

constexpr std::string_view kText =
    "ACCELERATOR_TYPE: 'v4-256'\n"
    "AGENT_BOOTSTRAP_IMAGE: 'gcr.io/images/agent:stable'\n"
    "MEGASCALE_NUM_SLICES: '2'\n"
    "MEGASCALE_COORDINATOR_ADDRESS: '10.0.0.1:8080'\r\n"
    "MEMCACHED_DOCKER_URL: ''\n"
    "WORKER_ID: 3\n"
    "ZONE: \"us-central2-b\"";

TEST(TpuEnvTest, ValueIsReadWithoutItsQuotes) {
  EXPECT_EQ(FindInTpuEnv(kText, "ACCELERATOR_TYPE"), "v4-256");
  EXPECT_EQ(FindInTpuEnv(kText, "MEGASCALE_NUM_SLICES"), "2");
  EXPECT_EQ(FindInTpuEnv(kText, "WORKER_ID"), "3");
  EXPECT_EQ(FindInTpuEnv(kText, "ZONE"), "us-central2-b");
}

TEST(TpuEnvTest, ColonsInAValueAreItsOwn) {
  EXPECT_EQ(FindInTpuEnv(kText, "AGENT_BOOTSTRAP_IMAGE"), "gcr.io/images/agent:stable");
  EXPECT_EQ(FindInTpuEnv(kText, "MEGASCALE_COORDINATOR_ADDRESS"), "10.0.0.1:8080");
}

TEST(TpuEnvTest, EmptyValueIsNone) {
  EXPECT_FALSE(FindInTpuEnv(kText, "MEMCACHED_DOCKER_URL"));
  EXPECT_FALSE(FindInTpuEnv("KEY:", "KEY"));
  EXPECT_FALSE(FindInTpuEnv("KEY: ' '", "KEY"));
}

TEST(TpuEnvTest, OnlyTheWholeKeyIsFound) {
  EXPECT_FALSE(FindInTpuEnv(kText, "NUM_SLICES"));
  EXPECT_FALSE(FindInTpuEnv(kText, "MEGASCALE_NUM"));
  EXPECT_FALSE(FindInTpuEnv("", "KEY"));
  EXPECT_FALSE(FindInTpuEnv("KEY\n\n:\nno colon", "KEY"));
}

TEST(TpuEnvTest, LastOfSeveralLinesCounts) { EXPECT_EQ(FindInTpuEnv("K: '1'\nL: '2'\nK: '3'\n", "K"), "3"); }

TEST(TpuEnvTest, LoneQuoteStaysInTheValue) { EXPECT_EQ(FindInTpuEnv("K: '", "K"), "'"); }

}  // namespace
}  // namespace pipeline
