// The fake bucket itself, where emulators are known to be wrong.
#include "tests/support/fake_gcs.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/percent.h"
#include "storage/remote/http/http_client.h"
#include "tests/storage/store_reading.h"
#include "tests/support/compress.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

constexpr std::size_t kQuantum = 256 << 10;

class FakeGcsTest : public testing::Test {
 protected:
  FakeGcsTest() { fake_.objects().SetBucket("b", {}); }

  HttpAnswer Send(std::string_view method, std::string_view url, std::string_view body = {},
                  const std::vector<HttpHeader>& headers = {}) {
    HttpRequest request;
    request.method = method;
    request.url = url.substr(0, 4) == "http" ? std::string(url) : StrCat(fake_.url(), url);
    request.headers = headers;
    request.body = body;
    Result<HttpAnswer> answer = Fetch(*client_, request, 64 << 20);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? std::move(answer).value() : HttpAnswer{};
  }
  Json SendJson(std::string_view method, std::string_view url, std::string_view body = {}) {
    return Json::Parse(Send(method, url, body).body).value();
  }
  std::string StartSession(std::string_view name, std::string_view more = "") {
    const HttpAnswer answer =
        Send("POST", StrCat("/upload/storage/v1/b/b/o?uploadType=resumable&name=", name, more), "{}");
    return std::string(answer.response.Header("location").value_or(""));
  }
  HttpAnswer Chunk(const std::string& session, std::string_view bytes, std::string_view range,
                   const std::vector<HttpHeader>& more = {}) {
    std::vector<HttpHeader> headers = more;
    headers.push_back({"Content-Range", std::string(range)});
    return Send("PUT", session, bytes, headers);
  }
  static std::string RangeOf(const HttpAnswer& answer) {
    return StrCat(answer.response.status, " ", answer.response.Header("range").value_or("-"));
  }

  TempDir directory_;
  FakeGcs fake_{{.keeping = {directory_ / "objects"}}};
  const std::unique_ptr<HttpClient> client_ = NewHttpClient();
  const std::string bytes_ = PatternBytes(3 * kQuantum + 1000);
};

TEST_F(FakeGcsTest, KeepsWholeQuantaOfAChunkAndTellsThemAlone) {
  const std::string session = StartSession("a");
  const std::size_t half = kQuantum + 500;
  EXPECT_EQ(RangeOf(Chunk(session, "", "bytes */*")), "308 -");
  EXPECT_EQ(RangeOf(Chunk(session, bytes_.substr(0, half), StrCat("bytes 0-", half - 1, "/*"))),
            "308 bytes=0-262143");
  EXPECT_EQ(RangeOf(Chunk(session, "", "bytes */*")), "308 bytes=0-262143");
  EXPECT_EQ(fake_.Get("b", "a"), "absent");
}

TEST_F(FakeGcsTest, AQueryFinishesOnlyWhatIsComplete) {
  const std::string session = StartSession("a");
  EXPECT_EQ(Chunk(session, bytes_.substr(0, kQuantum), "bytes 0-262143/*").response.status, 308);
  EXPECT_EQ(RangeOf(Chunk(session, "", "bytes */524288")), "308 bytes=0-262143");
  EXPECT_EQ(Chunk(session, "", "bytes */262144").response.status, 200);
  EXPECT_EQ(fake_.Get("b", "a"), bytes_.substr(0, kQuantum));
  EXPECT_EQ(Chunk(session, "", "bytes */*").response.status, 200) << "a finished session says so";
}

TEST_F(FakeGcsTest, BytesThatCameBeforeAreLeftOut) {
  const std::string session = StartSession("a");
  Chunk(session, bytes_.substr(0, 2 * kQuantum), "bytes 0-524287/*");
  const HttpAnswer gap =
      Chunk(session, bytes_.substr(3 * kQuantum), StrCat("bytes 786432-", bytes_.size() - 1, "/*"));
  EXPECT_EQ(gap.response.status, 400);
  const std::string range = StrCat("bytes 1000-", bytes_.size() - 1, "/", bytes_.size());
  EXPECT_EQ(Chunk(session, bytes_.substr(1000), range).response.status, 200);
  EXPECT_TRUE(fake_.Get("b", "a") == bytes_);
}

TEST_F(FakeGcsTest, RefusesWhatIsNotWhatWasDeclared) {
  const std::string all = StrCat("bytes 0-", bytes_.size() - 1, "/", bytes_.size());
  const std::string wrong = "crc32c=AAAAAA==", right = StrCat("crc32c=", CrcText(Crc32c(bytes_)));
  EXPECT_EQ(Chunk(StartSession("a"), bytes_, all, {{"x-goog-hash", wrong}}).response.status, 400);
  EXPECT_EQ(Send("POST", "/upload/storage/v1/b/b/o?uploadType=media&name=a", bytes_, {{"x-goog-hash", wrong}})
                .response.status,
            400);
  const std::string multipart = StrCat(
      "--x\r\nContent-Type: application/json\r\n\r\n{\"name\":\"a\",\"md5Hash\":"
      "\"AAAAAAAAAAAAAAAAAAAAAA==\"}\r\n--x\r\nContent-Type: text/plain\r\n\r\n",
      bytes_, "\r\n--x--\r\n");
  EXPECT_EQ(Send("POST", "/upload/storage/v1/b/b/o?uploadType=multipart", multipart,
                 {{"Content-Type", "multipart/related; boundary=x"}})
                .response.status,
            400);
  EXPECT_EQ(fake_.Get("b", "a"), "absent");
  EXPECT_EQ(fake_.faults().Counts()["G"], 3);
  EXPECT_EQ(Chunk(StartSession("a"), bytes_, all, {{"x-goog-hash", right}}).response.status, 200);
  EXPECT_TRUE(fake_.Get("b", "a") == bytes_);
}

TEST_F(FakeGcsTest, HoldsAnUploadToItsPreconditionWhenItEnds) {
  const std::string session = StartSession("a", "&ifGenerationMatch=0");
  fake_.Put("b", "a", "theirs");
  EXPECT_EQ(Chunk(session, "ours", "bytes 0-3/4").response.status, 412);
  EXPECT_EQ(fake_.Get("b", "a"), "theirs");
}

TEST_F(FakeGcsTest, ACancelledSessionIsGone) {
  const std::string session = StartSession("a");
  EXPECT_EQ(fake_.uploads().open(), 1);
  EXPECT_EQ(Send("DELETE", session).response.status, 499);
  EXPECT_EQ(Chunk(session, "x", "bytes 0-0/1").response.status, 404);
  EXPECT_EQ(fake_.uploads().open(), 0);
  EXPECT_EQ(fake_.Get("b", "a"), "absent");
}

TEST_F(FakeGcsTest, TakesGcloudsPathOfUploads) {
  const HttpAnswer started =
      Send("POST", "/resumable/upload/storage/v1/b/b/o?uploadType=resumable&name=a%2Fb", "{}");
  const std::string session(started.response.Header("location").value_or(""));
  EXPECT_EQ(Chunk(session, "x", "bytes 0-0/1").response.status, 200);
  EXPECT_EQ(fake_.Get("b", "a/b"), "x");
}

TEST_F(FakeGcsTest, ListsByPagesPrefixesAndBounds) {
  for (const char* name : {"a", "d/1", "d/2", "d/e/3", "z"}) fake_.Put("b", name, "x");
  const auto list = [&](std::string_view query) {
    std::string listed, token;
    do {
      const Json page =
          SendJson("GET", StrCat("/storage/v1/b/b/o?", query, "&pageToken=", PercentEncode(token)));
      for (const Json& item : page["items"].AsArray()) listed += StrCat(item["name"].AsString(), " ");
      for (const Json& prefix : page["prefixes"].AsArray()) listed += StrCat("[", prefix.AsString(), "] ");
      token = page["nextPageToken"].AsString();
      listed += "|";
    } while (!token.empty());
    return listed;
  };
  EXPECT_EQ(list(""), "a d/1 d/2 d/e/3 z |");
  EXPECT_EQ(list("maxResults=2"), "a d/1 |d/2 d/e/3 |z |");
  EXPECT_EQ(list("delimiter=%2F"), "a z [d/] |");
  EXPECT_EQ(list("delimiter=%2F&maxResults=1"), "a |[d/] |z |");
  EXPECT_EQ(list("delimiter=%2F&prefix=d%2F"), "d/1 d/2 [d/e/] |");
  EXPECT_EQ(list("startOffset=d%2F2&endOffset=z"), "d/2 d/e/3 |");
}

TEST_F(FakeGcsTest, GivesTheFieldsThatAreAskedFor) {
  fake_.Put("b", "a", "x");
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o?fields=nextPageToken,items(name,size)").body,
            R"({"items":[{"name":"a","size":"1"}]})");
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o?fields=items/name,items/size").body,
            R"({"items":[{"name":"a","size":"1"}]})");
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o/a?fields=size,name").body, R"({"name":"a","size":"1"})");
}

TEST_F(FakeGcsTest, ComposesAtMostThirtyTwo) {
  const std::uint64_t one = fake_.Put("b", "1", "one"), two = fake_.Put("b", "2", "two");
  const auto compose = [&](std::string_view sources) {
    return Send("POST", "/storage/v1/b/b/o/c/compose?ifGenerationMatch=0",
                StrCat("{\"sourceObjects\":[", sources, "]}"));
  };
  EXPECT_EQ(compose(StrCat(R"({"name":"1","generation":")", two, R"("})")).response.status, 404);
  EXPECT_EQ(compose(R"({"name":"1","objectPreconditions":{"ifGenerationMatch":"7"}})").response.status, 412);
  std::string many = R"({"name":"1"})";
  for (int i = 1; i < 33; ++i) many += R"(,{"name":"1"})";
  EXPECT_EQ(compose(many).response.status, 400);
  const HttpAnswer made = compose(StrCat(R"({"name":"1","generation":")", one, R"("},{"name":"2"})"));
  const Json resource = Json::Parse(made.body).value();
  EXPECT_EQ(resource["componentCount"], Json(2));
  EXPECT_EQ(resource["crc32c"], Json(CrcText(Crc32c("onetwo"))));
  EXPECT_FALSE(resource.Has("md5Hash"));
  EXPECT_EQ(compose(R"({"name":"1"})").response.status, 412);
}

TEST_F(FakeGcsTest, SendsWhatIsStoredOrUnpacksIt) {
  const std::string packed = GzipCompress(bytes_);
  Json given;
  given["contentEncoding"] = "gzip";
  fake_.Put("b", "a", packed, given);
  const HttpAnswer stored =
      Send("GET", "/storage/v1/b/b/o/a?alt=media", "", {{"Accept-Encoding", "gzip"}, {"Range", "bytes=5-9"}});
  EXPECT_EQ(stored.response.status, 206);
  EXPECT_EQ(stored.body, packed.substr(5, 5));
  EXPECT_EQ(stored.response.Header("x-goog-stored-content-encoding"), "gzip");
  EXPECT_EQ(stored.response.Header("content-range"), StrCat("bytes 5-9/", packed.size()));
  const HttpAnswer unpacked = Send("GET", "/storage/v1/b/b/o/a?alt=media", "", {{"Range", "bytes=5-9"}});
  EXPECT_EQ(unpacked.response.status, 200) << "a range means nothing then";
  EXPECT_TRUE(unpacked.body == bytes_);
}

TEST_F(FakeGcsTest, AnswersRangesAndGenerations) {
  const std::uint64_t first = fake_.Put("b", "a", "0123456789");
  const auto read = [&](std::string_view query, std::string_view range) {
    const HttpAnswer answer = Send("GET", StrCat("/download/storage/v1/b/b/o/a?alt=media", query), "",
                                   {{"Range", std::string(range)}});
    return StrCat(answer.response.status, answer.response.status < 300 ? " " + answer.body : "");
  };
  EXPECT_EQ(read("", "bytes=2-4"), "206 234");
  EXPECT_EQ(read("", "bytes=7-"), "206 789");
  EXPECT_EQ(read("", "bytes=-3"), "206 789");
  EXPECT_EQ(read("", "bytes=10-"), "416");
  EXPECT_EQ(read(StrCat("&generation=", first), "bytes=0-0"), "206 0");
  EXPECT_EQ(read("&ifGenerationMatch=7", "bytes=0-0"), "412");
  fake_.Put("b", "a", "other");
  EXPECT_EQ(read(StrCat("&generation=", first), "bytes=0-0"), "404");
}

TEST_F(FakeGcsTest, AnswersABatchPartByPart) {
  const std::uint64_t generation = fake_.Put("b", "a/ä", "bytes");
  fake_.Put("b", "stays", "bytes");
  const auto part = [](std::string_view about, std::string_view line) {
    return StrCat("--x\r\nContent-Type: application/http\r\n", about, "\r\n", line, " HTTP/1.1\r\n\r\n\r\n");
  };
  const std::string body = StrCat(
      part("Content-ID: <one>\r\n",
           StrCat("DELETE /storage/v1/b/b/o/a%2F%C3%A4?ifGenerationMatch=", generation)),
      part("", "DELETE /storage/v1/b/b/o/stays?ifGenerationMatch=7"),
      part("Content-ID: <three>\r\n", StrCat("GET ", fake_.url(), "/storage/v1/b/b/o/stays?fields=name")),
      "--x--\r\n");
  const HttpHeader type{"Content-Type", "multipart/mixed; boundary=\"x\""};
  const HttpAnswer answer = Send("POST", "/batch/storage/v1", body, {type});
  EXPECT_EQ(answer.response.status, 200);
  const std::size_t gone = answer.body.find("Content-ID: <response-one>\r\n\r\nHTTP/1.1 204 "),
                    refused = answer.body.find("\r\n\r\nHTTP/1.1 412 "),
                    found = answer.body.find("Content-ID: <response-three>\r\n\r\nHTTP/1.1 200 ");
  EXPECT_TRUE(gone < refused && refused < found && found != std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("{\"name\":\"stays\"}", found), std::string::npos);
  EXPECT_EQ(fake_.Get("b", "a/ä"), "absent");
  EXPECT_EQ(fake_.requests("storage.batch"), 1);
  EXPECT_EQ(fake_.requests("storage.objects.delete"), 0) << "parts are no requests";

  EXPECT_EQ(Send("POST", "/batch/storage/v1", body.substr(0, body.size() - 5), {type}).response.status, 400);
  EXPECT_EQ(Send("POST", "/batch/storage/v1", body).response.status, 400);
  std::string many;
  for (int at = 0; at < 101; ++at) many += part("", "DELETE /storage/v1/b/b/o/c");
  EXPECT_EQ(Send("POST", "/batch/storage/v1", many + "--x--\r\n", {type}).response.status, 400);
}

TEST_F(FakeGcsTest, ARetryTestIsConsumedOnce) {
  const Json test =
      SendJson("POST", "/retry_test",
               R"({"instructions":{"storage.objects.get":["return-503","return-broken-stream"]}})");
  const std::vector<HttpHeader> id = {{"x-retry-test-id", std::string(test["id"].AsString())}};
  fake_.Put("b", "a", "0123456789");
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o/a").response.status, 200) << "not of this test";
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o/a", "", id).response.status, 503);
  EXPECT_EQ(Send("GET", "/storage/v1/b/b/o/a", "", id).response.status, 200) << "a resource is no stream";
  HttpRequest media;
  media.url = StrCat(fake_.url(), "/storage/v1/b/b/o/a?alt=media");
  media.headers = id;
  EXPECT_EQ(Fetch(*client_, media, 100).status().code(), Code::kUnavailable);
  EXPECT_EQ(SendJson("GET", StrCat("/retry_test/", test["id"].AsString()))["completed"], Json(true));
  EXPECT_EQ(Send("POST", "/retry_test", R"({"instructions":{"storage.objects.get":["return-nonsense"]}})")
                .response.status,
            400);
}

TEST_F(FakeGcsTest, ARandomPlanIsTheSameForOneSeed) {
  const auto play = [](std::uint64_t seed) {
    FakeGcsFaults faults;
    faults.Plan(seed, 0.3);
    std::string played;
    for (int i = 0; i < 200; ++i) {
      const FakeFault fault = faults.Take({"storage.objects.insert.chunk", StrCat("o", i % 3), {}, true});
      played += StrCat(static_cast<int>(fault.kind), ".", fault.status, " ");
    }
    return played;
  };
  EXPECT_EQ(play(1), play(1));
  EXPECT_NE(play(1), play(2));
}

}  // namespace
}  // namespace pipeline
