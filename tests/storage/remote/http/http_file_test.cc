#include "storage/remote/http/http_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "base/str.h"
#include "storage/remote/http/compared_bytes.h"
#include "storage/remote/http/http_client.h"
#include "tests/storage/store_reading.h"
#include "tests/support/counted_pause.h"
#include "tests/support/http_server.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A web server with one file, as the common ones are; a test changes what it must.
class FileServer {
 public:
  std::string bytes = PatternBytes(1'000'000);
  std::string etag = "\"one\"";
  std::string last_modified = "Sun, 06 Nov 1994 08:49:37 GMT";
  std::string content_type = "application/octet-stream";
  bool takes_ranges = true;
  bool takes_head = true;
  std::size_t break_after = std::string::npos;   // bytes of each body
  std::size_t most_at_once = std::string::npos;  // bytes of an answer to a range
  std::function<bool(ServedExchange&)> before;   // true: it has answered

  std::vector<std::string> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

  void operator()(ServedExchange& exchange) {
    const ServedRequest& request = exchange.request();
    const std::string_view range = request.Header("range");
    {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(StrCat(request.method, range.empty() ? "" : " ", range));
    }
    if (before && before(exchange)) return;
    std::vector<HttpHeader> headers = {{"Content-Type", content_type}};
    if (!etag.empty()) headers.push_back({"ETag", etag});
    if (!last_modified.empty()) headers.push_back({"Last-Modified", last_modified});
    if (takes_ranges) headers.push_back({"Accept-Ranges", "bytes"});
    if (request.method == "HEAD") {
      exchange.Begin(takes_head ? 200 : 405, headers, takes_head ? bytes.size() : 0);
      return;
    }
    std::size_t first = 0, last = bytes.size() - 1;
    const std::string_view condition = request.Header("if-range");
    const bool holds = condition.empty() || condition == etag || condition == last_modified;
    const bool is_part = takes_ranges && holds && range.substr(0, 6) == "bytes=";
    if (is_part) {
      first = std::stoul(std::string(range.substr(6)));
      if (range.back() != '-') last = std::stoul(std::string(range.substr(range.find('-') + 1)));
      last = std::min(
          {last, bytes.size() - 1, most_at_once == std::string::npos ? last : first + most_at_once - 1});
      headers.push_back({"Content-Range", StrCat("bytes ", first, "-", last, "/", bytes.size())});
    }
    if (is_part && first >= bytes.size()) {
      exchange.Answer(416, {{"Content-Range", StrCat("bytes */", bytes.size())}}, "");
      return;
    }
    const std::string_view body = std::string_view(bytes).substr(first, last + 1 - first);
    exchange.Begin(is_part ? 206 : 200, headers, body.size());
    exchange.Write(body.substr(0, break_after));
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> asked_;
};

class HttpFileTest : public testing::Test {
 protected:
  std::string Url(std::string_view path = "/dir/ja.txt.xz?sig=hush") const {
    return StrCat(server_->url(), path);
  }
  Result<std::unique_ptr<HttpFile>> Open(std::string_view path = "/dir/ja.txt.xz?sig=hush") {
    return HttpFile::Open(client_, Url(path), {means_});
  }
  std::unique_ptr<HttpFile> Opened() {
    Result<std::unique_ptr<HttpFile>> file = Open();
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : nullptr;
  }
  /// All from `offset` on; how it ended is in status_.
  std::string ReadFrom(const HttpFile& file, std::uint64_t offset) {
    const auto reader = file.Open(offset, {});
    EXPECT_TRUE(reader.ok());
    status_ = {};
    std::string read = ReadAll(**reader, status_, 50'000);
    std::string piece(10, '\0');
    const auto again = (*reader)->Read(piece);
    EXPECT_TRUE(again.ok() ? status_.ok() && *again == 0 : again.status().message() == status_.message());
    EXPECT_EQ(status_.message().find("hush"), std::string_view::npos) << status_.message();
    return read;
  }
  void ExpectChanged() {
    EXPECT_EQ(status_.code(), Code::kDataLoss);
    EXPECT_NE(status_.message().find("changed while it was read"), std::string_view::npos)
        << status_.message();
  }

  FileServer files_;
  std::unique_ptr<HttpServer> server_ =
      HttpServer::Start([this](ServedExchange& exchange) { files_(exchange); });
  std::shared_ptr<HttpClient> client_ = NewHttpClient();
  FakeClock clock_;
  CountedPause pause_{&clock_};
  RetryMeans means_{.policy = {}, .clock = &clock_, .pause = &pause_};
  Status status_;
};

TEST_F(HttpFileTest, LearnsWhatTheServerSays) {
  const auto file = Opened();
  EXPECT_EQ(file->size(), 1'000'000u);
  EXPECT_EQ(file->facts().Version(), "\"one\"");
  EXPECT_EQ(file->facts().Validator(), "\"one\"");
  EXPECT_TRUE(file->facts().takes_ranges);
  EXPECT_EQ(file->facts().final_url, Url());
  EXPECT_EQ(files_.asked(), std::vector<std::string>{"HEAD"});

  files_.etag = "W/\"weak\"";
  EXPECT_EQ(Opened()->facts().Validator(), files_.last_modified) << "a weak tag does not tell bytes apart";
  files_.etag = "";
  files_.takes_ranges = false;
  EXPECT_EQ(Opened()->facts().Version(), "Sun, 06 Nov 1994 08:49:37 GMT, 1000000 bytes");
  EXPECT_FALSE(Opened()->facts().takes_ranges);
  files_.last_modified = "";
  EXPECT_EQ(Opened()->facts().Version(), "");
}

TEST_F(HttpFileTest, AsksForOneByteWhereHeadIsRefused) {
  files_.takes_head = false;
  auto file = Opened();
  EXPECT_EQ(file->size(), 1'000'000u);
  EXPECT_TRUE(file->facts().takes_ranges);
  EXPECT_EQ(files_.asked(), (std::vector<std::string>{"HEAD", "GET bytes=0-0"}));
  files_.takes_ranges = false;
  file = Opened();
  EXPECT_EQ(file->size(), 1'000'000u);
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes);
  files_.takes_ranges = true;
  files_.before = [](ServedExchange& exchange) {
    const bool is_head = exchange.request().method == "HEAD";
    return exchange.Answer(is_head ? 403 : 416, {{"Content-Range", "bytes */0"}}, "");
  };
  EXPECT_EQ(Opened()->size(), 0u);
}

TEST_F(HttpFileTest, ReadsFromAnyOffsetAndResumesNothingThatDidNotBreak) {
  const auto file = Opened();
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes);
  EXPECT_TRUE(ReadFrom(*file, 999'999) == files_.bytes.substr(999'999));
  EXPECT_EQ(ReadFrom(*file, 1'000'000), "");
  EXPECT_EQ(ReadFrom(*file, std::uint64_t{1} << 62), "");
  EXPECT_EQ(files_.asked(), (std::vector<std::string>{"HEAD", "GET", "GET bytes=999999-"}));
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpFileTest, GoesOnWhereATransferBroke) {
  for (const bool has_etag : {true, false}) {
    if (!has_etag) files_.etag = "";
    files_.break_after = 150'000;
    const auto file = Opened();
    EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes) << status_.message();
    EXPECT_TRUE(ReadFrom(*file, 123) == files_.bytes.substr(123)) << status_.message();
  }
  EXPECT_EQ(files_.asked()[2], "GET bytes=84464-") << "64 KiB come again";
  EXPECT_EQ(pause_.taken.size(), 44u) << "each transfer after the first brings 84,464 new bytes";
  EXPECT_LE(*std::max_element(pause_.taken.begin(), pause_.taken.end()), seconds(1))
      << "progress did not count";
}

TEST_F(HttpFileTest, GoesOnWhereEachTransferIsShorterThanWhatComesAgain) {
  files_.bytes.resize(200'000);
  files_.break_after = 30'000;
  const auto file = Opened();
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes) << status_.message();
}

TEST_F(HttpFileTest, AfterABreakOtherBytesOfTheSameVersionAreNoRest) {
  const auto file = Opened();
  files_.break_after = 400'000;
  files_.before = [this, gets = 0](ServedExchange&) mutable {
    if (++gets == 2) files_.bytes[399'990] = static_cast<char>(files_.bytes[399'990] ^ 1);
    return false;
  };
  EXPECT_EQ(ReadFrom(*file, 0).size(), 400'000u);
  EXPECT_EQ(status_.code(), Code::kDataLoss);
  EXPECT_NE(status_.Detail<OtherBytes>(), nullptr) << status_.message();
}

TEST_F(HttpFileTest, TakesWhatAServerGivesInParts) {
  files_.most_at_once = 70'000;
  const auto file = Opened();
  EXPECT_TRUE(ReadFrom(*file, 1) == files_.bytes.substr(1)) << status_.message();
  EXPECT_TRUE(pause_.taken.empty()) << "waited although nothing had broken";
}

TEST_F(HttpFileTest, APartIsAskedForAndNothingBehindIt) {
  const auto file = Opened();
  const auto read = [&](std::uint64_t begin, std::uint64_t end) {
    const auto reader = file->OpenRange(begin, end, {});
    EXPECT_TRUE(reader.ok());
    status_ = {};
    return ReadAll(**reader, status_, 50'000);
  };
  EXPECT_TRUE(read(0, 1000) == files_.bytes.substr(0, 1000));
  EXPECT_TRUE(read(5000, 300'000) == files_.bytes.substr(5000, 295'000));
  EXPECT_EQ(read(7, 7), "");
  EXPECT_TRUE(read(999'000, 2'000'000) == files_.bytes.substr(999'000));
  EXPECT_EQ(files_.asked(), (std::vector<std::string>{"HEAD", "GET bytes=0-999", "GET bytes=5000-299999",
                                                      "GET bytes=999000-"}));
  EXPECT_EQ(server_->connections(), 1);
  files_.break_after = 100'000;
  EXPECT_TRUE(read(5000, 300'000) == files_.bytes.substr(5000, 295'000)) << status_.message();
}

TEST_F(HttpFileTest, AllOfTheFileInPlaceOfAPartIsRefusedButAtTheFront) {
  files_.takes_ranges = false;
  const auto file = Opened();
  const auto front = file->OpenRange(0, 1000, {}), middle = file->OpenRange(1000, 2000, {});
  EXPECT_TRUE(ReadAll(**front, status_) == files_.bytes.substr(0, 1000)) << status_.message();
  EXPECT_EQ(ReadAll(**middle, status_), "");
  EXPECT_EQ(status_.code(), Code::kFailedPrecondition) << status_.message();
}

TEST_F(HttpFileTest, AnAnswerThatBeginsBeforeTheRangeIsCut) {
  const auto file = Opened();
  files_.before = [this](ServedExchange& exchange) {
    return exchange.Answer(206, {{"Content-Range", "bytes 100-999999/1000000"}, {"ETag", files_.etag}},
                           files_.bytes.substr(100));
  };
  EXPECT_TRUE(ReadFrom(*file, 5000) == files_.bytes.substr(5000)) << status_.message();
}

TEST_F(HttpFileTest, AWholeFileInAnswerToARangeIsPassedOverUpToIt) {
  files_.takes_ranges = false;
  const auto file = Opened();
  EXPECT_TRUE(ReadFrom(*file, 600'000) == files_.bytes.substr(600'000)) << status_.message();
  std::atomic<int> left = 3;
  files_.before = [&](ServedExchange& exchange) {  // breaks three times, later each time
    if (left-- <= 0) return false;
    exchange.Begin(200, {{"ETag", files_.etag}}, files_.bytes.size());
    exchange.Write(
        std::string_view(files_.bytes).substr(0, 900'000 - 100'000 * static_cast<std::size_t>(left)));
    return true;
  };
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes) << status_.message();
}

TEST_F(HttpFileTest, AnotherVersionIsNeverMixedIn) {
  const std::string old = files_.bytes;
  const struct {
    const char* what;
    std::function<void()> change;
  } changes[] = {{"its ETag", [&] { files_.etag = "\"two\""; }},
                 {"size", [&] { files_.bytes += "more", files_.etag = "\"two\""; }},
                 {"size under one tag", [&] { files_.bytes += "more"; }},
                 {"shorter than what was read", [&] { files_.bytes.resize(1000), files_.etag = "\"two\""; }},
                 {"Last-Modified alone",
                  [&] { files_.etag = "", files_.last_modified = "Mon, 07 Nov 1994 08:49:37 GMT"; }}};
  for (const bool takes_ranges : {true, false})
    for (const auto& change : changes) {
      files_.bytes = old, files_.etag = "\"one\"", files_.last_modified = "Sun, 06 Nov 1994 08:49:37 GMT";
      files_.takes_ranges = takes_ranges;
      if (change.what == std::string_view("Last-Modified alone")) files_.etag = "";
      const auto file = Opened();
      files_.break_after = 150'000;
      std::atomic<int> asked = 0;
      files_.before = [&](ServedExchange&) {
        if (++asked == 2) change.change(), files_.break_after = std::string::npos;
        return false;
      };
      EXPECT_EQ(ReadFrom(*file, 0), old.substr(0, 150'000)) << change.what;
      ExpectChanged();
      files_.before = {};
      files_.break_after = std::string::npos;
    }
}

TEST_F(HttpFileTest, AnotherVersionBetweenOpenAndReadIsSeen) {
  const auto file = Opened();
  files_.etag = "\"two\"";
  EXPECT_EQ(ReadFrom(*file, 0), "");
  ExpectChanged();
}

TEST_F(HttpFileTest, WithoutAnythingToKnowItByTheRestIsNotGuessed) {
  files_.etag = files_.last_modified = "";
  const auto file = Opened();
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes);
  files_.break_after = 150'000;
  EXPECT_EQ(ReadFrom(*file, 0).size(), 150'000u);
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_NE(status_.message().find("neither ETag nor Last-Modified"), std::string_view::npos)
      << status_.message();
}

TEST_F(HttpFileTest, ABodyLongerThanTheFileIsAnotherVersion) {
  const auto file = Opened();
  files_.before = [this](ServedExchange& exchange) {
    exchange.Begin(200, {}, std::nullopt);
    exchange.Write(files_.bytes);
    exchange.Write("and more");
    return true;
  };
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes);
  ExpectChanged();
}

TEST_F(HttpFileTest, WaitsAsLongAsTheServerAsks) {
  std::atomic<int> left = 2;
  files_.before = [&](ServedExchange& exchange) {
    if (left-- <= 0) return false;
    clock_.Advance(seconds(1000));  // while the client waits for this answer
    return exchange.Answer(left == 1 ? 503 : 429,
                           {{"Retry-After", left == 1 ? "7" : "Thu, 01 Jan 1970 00:34:00 GMT"}}, "");
  };
  EXPECT_TRUE(Open().ok());
  EXPECT_EQ(pause_.taken, (std::vector<milliseconds>{seconds(7), seconds(33)}));
}

TEST_F(HttpFileTest, EveryStatusIsToldInItsOwnWay) {
  const struct {
    int status;
    Code code;
    const char* words;
  } cases[] = {{400, Code::kInvalidArgument, "400 (bad request)"},
               {401, Code::kPermissionDenied, "401 (unauthorized)"},
               {403, Code::kPermissionDenied, "403 (forbidden)"},
               {404, Code::kNotFound, "404 (not found)"},
               {410, Code::kNotFound, "410 (gone)"},
               {418, Code::kInvalidArgument, "answers 418"},
               {500, Code::kUnavailable, "500 (internal error)"},
               {503, Code::kUnavailable, "503 (unavailable)"},
               {429, Code::kUnavailable, "429 (too many"},
               {599, Code::kUnavailable, "answers 599"},
               {302, Code::kInvalidArgument, "answers 302"},
               {412, Code::kFailedPrecondition, "412 (precondition"}};
  for (const auto& test : cases) {
    files_.before = [&](ServedExchange& exchange) { return exchange.Answer(test.status, {}, "no"); };
    const Status failure = Open().status();
    EXPECT_EQ(failure.code(), test.code) << test.status;
    EXPECT_EQ(failure.code(), HttpCode(test.status));
    EXPECT_NE(failure.message().find(test.words), std::string_view::npos) << failure.message();
    EXPECT_EQ(failure.message().substr(0, Url("/dir/ja.txt.xz: ").size()), Url("/dir/ja.txt.xz: "));
    EXPECT_EQ(failure.message().find("hush"), std::string_view::npos);
  }
}

TEST_F(HttpFileTest, AWebPageInPlaceOfTheFileIsNoticed) {
  files_.content_type = "Text/HTML; charset=utf-8";
  for (const bool takes_head : {true, false}) {
    files_.takes_head = takes_head;
    const Status failure = Open().status();
    EXPECT_EQ(failure.code(), Code::kFailedPrecondition);
    EXPECT_NE(failure.message().find("answers with a web page (text/html, 2"), std::string_view::npos)
        << failure.message();
  }
  EXPECT_TRUE(Open("/page.html").ok()) << "a page that was asked for";
  files_.content_type = "text/plain";
  const auto file = Opened();
  files_.content_type = "text/html";
  EXPECT_EQ(ReadFrom(*file, 0), "");
  EXPECT_EQ(status_.code(), Code::kFailedPrecondition);
}

TEST_F(HttpFileTest, ADirectoryOfAWebServerIsNoFile) {
  files_.before = [](ServedExchange& exchange) {
    if (exchange.request().path == "/dir") return exchange.Answer(301, {{"Location", "/dir/"}}, "");
    return exchange.Answer(200, {{"Content-Type", "text/html"}}, "<a href=...>");
  };
  EXPECT_EQ(Open("/dir").status().code(), Code::kNotFound);
}

TEST_F(HttpFileTest, ASizeThatIsNotToldIsRefused) {
  files_.before = [](ServedExchange& exchange) {
    exchange.Begin(200, {}, std::nullopt);
    return true;
  };
  const Status failure = Open().status();
  EXPECT_EQ(failure.code(), Code::kFailedPrecondition);
  EXPECT_NE(failure.message().find("does not say how large it is"), std::string_view::npos)
      << failure.message();
}

TEST_F(HttpFileTest, ARangeThatWasNotAskedForIsRefused) {
  const auto file = Opened();
  for (const char* range :
       {"", "bytes 600-999999/1000000", "bytes 0-99/1000000", "bytes 500-1000000/*", "lines 1-2/3"}) {
    files_.before = [&](ServedExchange& exchange) {
      return exchange.Answer(206, {{"Content-Range", range}, {"ETag", files_.etag}}, "unseen");
    };
    EXPECT_EQ(ReadFrom(*file, 500), "") << range;
    EXPECT_EQ(status_.code(), Code::kFailedPrecondition) << status_.message();
  }
}

TEST_F(HttpFileTest, EveryAttemptBeginsAtTheAddressThatWasGiven) {
  std::atomic<int> mirrors = 0;
  files_.break_after = 400'000;
  files_.before = [&](ServedExchange& exchange) {
    if (exchange.request().path != "/dir/ja.txt.xz") return false;
    return exchange.Answer(302, {{"Location", StrCat("/mirror", ++mirrors, "?sig=hush")}}, "");
  };
  const auto file = Opened();
  EXPECT_EQ(file->facts().final_url, Url("/mirror1?sig=hush"));
  EXPECT_TRUE(ReadFrom(*file, 0) == files_.bytes) << status_.message();
  EXPECT_EQ(mirrors, 4);
}

TEST_F(HttpFileTest, AStopEndsReadingAlsoBetweenAttempts) {
  const auto file = Opened();
  std::stop_source stop;
  files_.before = [&](ServedExchange& exchange) {
    stop.request_stop();
    return exchange.Answer(503, {}, "");
  };
  const auto reader = file->Open(0, stop.get_token());
  ASSERT_TRUE(reader.ok());
  std::string piece(10, '\0');
  EXPECT_EQ((*reader)->Read(piece).status().code(), Code::kCancelled);
}

TEST_F(HttpFileTest, WhatNeverComesIsGivenUp) {
  files_.break_after = 0;
  const auto file = Opened();
  EXPECT_EQ(ReadFrom(*file, 77), "");
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_NE(status_.message().find("(tried "), std::string_view::npos) << status_.message();
  EXPECT_GE(pause_.Sum(), seconds(600));
}

}  // namespace
}  // namespace pipeline
