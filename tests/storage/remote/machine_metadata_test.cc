#include "storage/remote/machine_metadata.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>

#include "base/str.h"
#include "tests/support/http_server.h"

namespace pipeline {
namespace {

constexpr const char* kPath = "instance/attributes/agent-worker-number";

class MachineMetadataTest : public testing::Test {
 protected:
  void Serve(HttpServer::Handler handler) { server_ = HttpServer::Start(std::move(handler)); }
  Result<std::optional<std::string>> Read(std::string_view path = kPath) {
    const std::string host = server_ ? StrCat("127.0.0.1:", server_->port()) : std::string("127.0.0.1:1");
    return ReadMachineMetadata(path, {}, [host](const char* name) -> std::optional<std::string> {
      return std::string_view(name) == "GCE_METADATA_HOST" ? std::optional(host) : std::nullopt;
    });
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(MachineMetadataTest, GivesAValue) {
  std::string asked, flavor;
  Serve([&](ServedExchange& exchange) {
    asked = exchange.request().path;
    flavor = exchange.request().Header("metadata-flavor");
    exchange.Answer(200, {{"Metadata-Flavor", "Google"}}, "3");
  });
  const auto value = Read();
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(*value, "3");
  EXPECT_EQ(asked, StrCat("/computeMetadata/v1/", kPath));
  EXPECT_EQ(flavor, "Google");
}

TEST_F(MachineMetadataTest, AMissingValueAndAnotherServerAreAbsent) {
  Serve([](ServedExchange& exchange) { exchange.Answer(404, {{"Metadata-Flavor", "Google"}}, "no"); });
  EXPECT_EQ(*Read(), std::nullopt);
  Serve([](ServedExchange& exchange) { exchange.Answer(200, {}, "<html>please log in</html>"); });
  EXPECT_EQ(*Read(), std::nullopt);
}

TEST_F(MachineMetadataTest, AServerThatFailsOrIsSlowIsNoAbsentValue) {
  Serve([](ServedExchange& exchange) { exchange.Answer(503, {{"Metadata-Flavor", "Google"}}, ""); });
  EXPECT_EQ(Read().status().code(), Code::kUnavailable);
  Serve([](ServedExchange& exchange) { exchange.Stall(std::chrono::seconds(60)); });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Read().status().code(), Code::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  Serve([](ServedExchange& exchange) {
    exchange.Begin(200, {{"Metadata-Flavor", "Google"}}, 1000);
    for (int byte = 0; byte < 1000 && exchange.Write("x"); ++byte)
      exchange.Stall(std::chrono::milliseconds(50));
  });
  EXPECT_EQ(Read().status().code(), Code::kUnavailable) << "bytes that drip";
  Serve([](ServedExchange& exchange) {
    exchange.Answer(200, {{"Metadata-Flavor", "Google"}}, std::string(2 << 20, 'x'));
  });
  EXPECT_EQ(Read().status().code(), Code::kUnavailable) << "more than a value";
}

TEST_F(MachineMetadataTest, NobodyAtTheNamedAddressIsAFailure) {
  EXPECT_EQ(Read().status().code(), Code::kUnavailable);
}

TEST_F(MachineMetadataTest, AMachineThatGoogleDidNotMakeAsksNobody) {
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  EXPECT_EQ(*ReadMachineMetadata(kPath, {}, nothing, "/no/such/file"), std::nullopt);
}

TEST_F(MachineMetadataTest, OnlyAPathIsAsked) {
  Serve([](ServedExchange& exchange) { exchange.Answer(200, {{"Metadata-Flavor", "Google"}}, "1"); });
  for (const char* path : {"", "/instance", "instance/../x", "a b", "a?b", "a\r\nb"})
    EXPECT_EQ(Read(path).status().code(), Code::kInvalidArgument) << path;
  EXPECT_EQ(server_->connections(), 0);
}

}  // namespace
}  // namespace pipeline
