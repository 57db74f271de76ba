// What the fake bucket is told beside the API, and its plans for the soak.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/remote/http/http_client.h"
#include "tests/storage/store_reading.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/fake_tokens.h"

namespace pipeline {
namespace {

class FakeGcsControlTest : public testing::Test {
 protected:
  FakeGcsControlTest() { fake_.objects().SetBucket("b", {}); }

  HttpAnswer Send(std::string_view method, std::string_view path, std::string_view body = {}) {
    HttpRequest request;
    request.method = method;
    request.url = StrCat(fake_.url(), path);
    request.body = body;
    Result<HttpAnswer> answer = Fetch(*client_, request, 64 << 20);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? std::move(answer).value() : HttpAnswer{};
  }
  Json SendJson(std::string_view method, std::string_view path, std::string_view body = {}) {
    return Json::Parse(Send(method, path, body).body).value();
  }

  FakeGcs fake_;
  const std::unique_ptr<HttpClient> client_ = NewHttpClient();
};

TEST_F(FakeGcsControlTest, StandsStillAtAMomentUntilItIsReleased) {
  Json held;
  std::thread holder([&] { held = SendJson("POST", "/fake/hold?after=1"); });
  while (!fake_.moments().is_holding()) std::this_thread::yield();
  std::atomic<bool> answered = false;
  std::thread asker([&] { answered = Send("GET", "/storage/v1/b/b/o").response.status == 200; });
  holder.join();
  EXPECT_EQ(held["held"], Json(true));
  EXPECT_FALSE(answered);
  SendJson("POST", "/fake/release");
  asker.join();
  EXPECT_TRUE(answered);
}

TEST_F(FakeGcsControlTest, AReleaseEndsAHoldThatNothingReached) {
  Json held;
  std::thread holder([&] { held = SendJson("POST", "/fake/hold?after=1000000"); });
  while (!fake_.moments().is_holding()) std::this_thread::yield();
  SendJson("POST", "/fake/release");
  holder.join();
  EXPECT_EQ(held["held"], Json(false));
}

TEST_F(FakeGcsControlTest, TellsWhatIsThereAndHowOftenItWasMade) {
  Send("POST", "/fake/objects?bucket=b&name=a%20b&encoding=gzip", "bytes");
  Send("POST", "/fake/objects?bucket=b&name=a%20b", "other");
  const Json objects = SendJson("GET", "/fake/objects?bucket=b");
  EXPECT_EQ(objects["a b"]["size"], Json(5));
  EXPECT_EQ(objects["a b"]["crc32c"].AsString(), CrcText(Crc32c("other")));
  EXPECT_EQ(objects["a b"]["made"], Json(2));
  const Json books = SendJson("GET", "/fake/counts")["buckets"]["b"];
  EXPECT_EQ(books["objects"], Json(1));
  EXPECT_EQ(books["most_made"], Json(2));
  EXPECT_EQ(books["overwritten"], Json(1));
}

TEST_F(FakeGcsControlTest, StrikesAsItIsTold) {
  EXPECT_EQ(
      Send("POST", "/fake/faults", R"({"storage.objects.list":["return-503","return-429"]})").response.status,
      200);
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o").response.status, 503);
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o").response.status, 429);
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o").response.status, 200);
  EXPECT_EQ(Send("POST", "/fake/faults", R"({"storage.objects.list":["return-nonsense"]})").response.status,
            400);
  EXPECT_EQ(Send("GET", "/fake/nothing").response.status, 404);
}

TEST_F(FakeGcsControlTest, ReplacesAnObjectWhileItIsRead) {
  const std::string bytes = PatternBytes(300'000);
  fake_.Put("b", "a", bytes);
  ASSERT_TRUE(fake_.faults().Add("storage.objects.read", "overwrite-after-64K"));
  HttpRequest request;
  request.url = StrCat(fake_.url(), "/storage/v1/b/b/o/a?alt=media");
  EXPECT_EQ(Fetch(*client_, request, 1 << 20).status().code(), Code::kUnavailable);
  EXPECT_TRUE(fake_.Get("b", "a") == std::string(bytes.rbegin(), bytes.rend()));
  EXPECT_EQ(fake_.objects().overwritten(), 1);
}

TEST(FakePlanTest, LeavesObjectsOfOthersAloneWhereNobodyElseWrites) {
  const auto overwrites = [](bool others_write) {
    FakeGcsFaults faults;
    faults.Plan(1, 0.5);
    int count = 0;
    for (int i = 0; i < 500; ++i)
      count += faults.Take({"storage.objects.read", "o", {}, false, others_write}).kind ==
               FakeFault::Kind::kOverwrite;
    return count;
  };
  EXPECT_EQ(overwrites(false), 0);
  EXPECT_GT(overwrites(true), 0);
}

TEST(FakePlanTest, NeverRefusesTwoTokensInARow) {
  FakeGcsFaults faults;
  faults.Plan(1, 0.9);
  int refused = 0, before = 0;
  for (int i = 0; i < 2'000; ++i) {
    // Steps of one operation differ in their names.
    const std::string operation =
        i % 2 == 0 ? "storage.objects.insert.chunk" : "storage.objects.insert.query";
    const int status = faults.Take({operation, "o", {}, true}).status;
    EXPECT_FALSE(status == 401 && before == 401);
    refused += status == 401;
    before = status;
  }
  EXPECT_GT(refused, 0);
  for (int i = 0; i < 100; ++i) {
    faults.NoteRefused("o");
    EXPECT_NE(faults.Take({"storage.objects.insert.chunk", "o", {}, true}).status, 401);
  }
}

TEST(FakePlanTest, AMetadataServerHasItsDaysInTurns) {
  FakeTokens tokens;
  int struck = 0;
  tokens.Plan(1, 1.0, [&] { ++struck; });
  const auto client = tokens.Client();
  std::string seen;
  for (int i = 0; i < 4; ++i) {
    HttpRequest request;
    request.url = StrCat("http://", tokens.host(), "/computeMetadata/v1/token");
    request.headers = {{"Metadata-Flavor", "Google"}};
    const Result<HttpAnswer> answer = Fetch(*client, request, 1 << 20);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    const Result<Json> body = Json::Parse(answer->body);
    seen += StrCat(answer->response.status, answer->response.Header("metadata-flavor") ? "" : "!", " ",
                   body.ok() ? (*body)["expires_in"].Dump() : "-", "; ");
  }
  EXPECT_EQ(seen, "200 3600; 404 null; 200! 3600; 200 1; ");
  EXPECT_EQ(struck, 4);
}

}  // namespace
}  // namespace pipeline
