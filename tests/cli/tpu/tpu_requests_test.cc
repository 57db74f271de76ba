// The bodies that the API gets, compared with those in tests/golden/tpu, and the meanings of its answers.
// Google's own library reads the same files: tests/hosts/tpu_requests.py.
#include "cli/tpu/tpu_requests.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

SliceOrder Order(const std::string& type) {
  SliceOrder order;
  order.name = "pipe-mine-7";
  order.project = "corpus";
  order.zone = "us-central1-a";
  order.type = *ParseSliceType(type);
  order.most_seconds = 86'400;
  order.wait_seconds = 1'800;
  order.labels = {
      {kSliceLabel, "mine"}, {kAttemptLabel, "7"}, {kKeyLabel, "0123456789abcdef"}, {kSecondsLabel, "86400"}};
  return order;
}

/// A file that differs is left in the temporary directory of the system, to look at and to copy.
void ExpectGolden(const std::string& name, const Json& body) {
  const std::filesystem::path golden = std::filesystem::path(SourceDir()) / "tests/golden/tpu" / name;
  const std::string text = body.DumpPretty();
  if (std::filesystem::exists(golden) && ReadFile(golden) == text) return;
  const std::filesystem::path left = std::filesystem::temp_directory_path() / name;
  WriteFile(left, text);
  ADD_FAILURE() << golden << " is not what is made now: " << left;
}

TEST(TpuRequestsTest, BodiesAreThoseOfTheGoldenFiles) {
  ExpectGolden("node.json", NodeBody(Order("v3-8")));
  ExpectGolden("queued.json", QueuedBody(Order("v5litepod-16")));
  SliceOrder all = Order("2xv5e-16");
  all.spot = false, all.external_ips = false;
  all.network = "inner", all.subnetwork = "inner-eu",
  all.service_account = "trainer@corpus.iam.gserviceaccount.com";
  ExpectGolden("slices.json", QueuedBody(all));
  all.type = *ParseSliceType("v2-32");
  ExpectGolden("node-everything.json", NodeBody(all));
}

TEST(TpuRequestsTest, NoBodyHasAKeyATokenOrASignedAddress) {
  for (const char* type : {"v3-8", "v5e-16"}) {
    const std::string body = NodeBody(Order(type)).Dump() + QueuedBody(Order(type)).Dump();
    for (const char* part : {"ya29.", "PRIVATE KEY", "X-Goog-Signature", "refresh_token"})
      EXPECT_EQ(body.find(part), std::string::npos) << part;
  }
}

TEST(TpuRequestsTest, AgeIsByTheClockOfTheCloud) {
  Json node;
  node["name"] = "projects/corpus/locations/us-central1-a/nodes/pipe-mine-7";
  node["createTime"] = "2026-12-01T00:00:10.123456Z";
  const std::int64_t midnight = 1'796'083'200;  // 2026-12-01T00:00:00Z
  EXPECT_EQ(ViewOfNode(node, midnight + 70).age, 60);
  EXPECT_EQ(ViewOfNode(node, midnight).age, 0);  // the cloud's own clocks differ by seconds
  EXPECT_FALSE(ViewOfNode(node, std::nullopt).age);
  for (const char* time : {"", "yesterday", "2026-12-01T00:00:10", "2026-13-01T00:00:10Z",
                           "2026-12-01T25:00:10Z", "2026-02-30T00:00:10Z"}) {
    node["createTime"] = time;
    EXPECT_FALSE(ViewOfNode(node, midnight).age) << time;
  }
}

TEST(TpuRequestsTest, ReadyIsReadyWithTheAddressesOfAllWorkers) {
  Json node;
  node["state"] = "READY";
  EXPECT_EQ(ViewOfNode(node, {}).state, SliceState::kComing);
  Json first, second;
  first["ipAddress"] = "10.0.0.2";
  second["port"] = 8470;
  node["networkEndpoints"].Append(first);
  EXPECT_EQ(ViewOfNode(node, {}).state, SliceState::kReady);
  node["networkEndpoints"].Append(second);
  EXPECT_EQ(ViewOfNode(node, {}).state, SliceState::kComing);
}

TEST(TpuRequestsTest, AnAnswerOfAnotherKindIsNoCrash) {
  for (const char* text :
       {"{}", "[]", "null", "5",
        R"({"name":5,"state":{},"labels":[1],"networkEndpoints":{"a":1},"createTime":7})",
        R"({"state":{"state":[]},"tpu":{"nodeSpec":"x"}})", R"({"tpu":{"nodeSpec":[5]},"state":"x"})"}) {
    const Json json = *Json::Parse(text);
    (void)ViewOfNode(json, 1);
    (void)ViewOfQueued(json, 1, "corpus");
    (void)ParseApiError(400, json);
  }
}

TEST(TpuRequestsTest, ReasonsOfRefusalsAreToldApart) {
  const auto why = [](int http, const char* word, const char* message) {
    Json error;
    error["status"] = word;
    error["message"] = message;
    const Status refused = RefusalOf(FailureOf(ParseApiError(http, error), "POST x"), Order("v3-8"));
    const auto* const refusal = refused.Detail<SliceRefusal>();
    return refusal == nullptr ? -1 : static_cast<int>(refusal->why);
  };
  using Why = SliceRefusal::Why;
  EXPECT_EQ(why(429, "RESOURCE_EXHAUSTED", "Quota limit 'TPUV3s' has been exceeded. Limit: 0 in zone Z"),
            static_cast<int>(Why::kQuota));
  EXPECT_EQ(why(0, "RESOURCE_EXHAUSTED", "There is no more capacity in the zone \"Z\""),
            static_cast<int>(Why::kCapacity));
  EXPECT_EQ(why(409, "ALREADY_EXISTS", "exists"), static_cast<int>(Why::kTaken));
  EXPECT_EQ(why(403, "PERMISSION_DENIED", "no"), static_cast<int>(Why::kRight));
  EXPECT_EQ(why(400, "INVALID_ARGUMENT", "no"), static_cast<int>(Why::kArgument));
  EXPECT_EQ(why(503, "UNAVAILABLE", "no"), -1);
  EXPECT_EQ(why(429, "RESOURCE_EXHAUSTED", "Quota exceeded for 'Read requests per minute' of service"), -1);
  EXPECT_EQ(why(502, "", ""), -1);
}

}  // namespace
}  // namespace pipeline
