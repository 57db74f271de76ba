#include "storage/remote/http/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/attendance.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/str.h"
#include "tests/storage/store_reading.h"
#include "tests/support/http_server.h"
#include "tests/support/memory_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kSecret = "hush";

/// A server and a client of it; the handler of a test decides.
class HttpClientTest : public testing::Test {
 protected:
  void Serve(HttpServer::Handler handler) { server_ = HttpServer::Start(std::move(handler)); }
  void Limit(const HttpLimits& limits) { client_ = NewHttpClient(limits); }

  HttpRequest Get(std::string_view path) { return {.url = StrCat(server_->url(), path)}; }
  Result<HttpAnswer> Fetched(const HttpRequest& request, std::stop_token stop = {}) {
    return Fetch(*client_, request, 64 << 20, std::move(stop));
  }
  std::string Body(const HttpRequest& request) {
    const Result<HttpAnswer> answer = Fetched(request);
    return answer.ok() ? answer->body : StrCat("failed: ", answer.status().message());
  }
  Status Failure(const HttpRequest& request) { return Fetched(request).status(); }
  /// That of reading the body, after headers that came whole.
  Status FailureOfBody(const HttpRequest& request) {
    const Result<std::unique_ptr<HttpExchange>> exchange = client_->Start(request, {});
    EXPECT_TRUE(exchange.ok()) << exchange.status().message();
    if (!exchange.ok()) return {};
    Status status;
    body_before_ = ReadAll(**exchange, status);
    std::string piece(10, '\0');
    EXPECT_EQ((*exchange)->Read(piece).status().message(), status.message())
        << "another error the second time";
    return status;
  }

  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_ = NewHttpClient({.stall = milliseconds(20'000)});
  std::string body_before_;
};

void SayHello(ServedExchange& exchange) { exchange.Answer(200, {{"X-One", "1"}, {"x-one", "2"}}, "hello"); }

TEST_F(HttpClientTest, GivesStatusHeadersAndBody) {
  Serve([](ServedExchange& exchange) {
    EXPECT_EQ(exchange.request().method, "GET");
    EXPECT_EQ(exchange.request().path, "/a/../%2Fb");
    EXPECT_EQ(exchange.request().query, "x=1&y");
    EXPECT_EQ(exchange.request().Header("x-mine"), "value");
    EXPECT_EQ(exchange.request().Header("accept-encoding"), "");
    exchange.Answer(418, {{"X-One", "  spaced out\t"}, {"x-one", "2"}, {"X-Empty", ""}}, "hello");
  });
  HttpRequest request = Get("/a/../%2Fb?x=1&y#fragment");
  request.headers = {{"X-Mine", "value"}, {"X-Empty", ""}};
  const auto answer = Fetched(request);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->response.status, 418);
  EXPECT_EQ(answer->response.Header("x-one"), "spaced out");
  EXPECT_EQ(answer->response.Header("x-empty"), "");
  EXPECT_EQ(answer->response.Header("x-none"), std::nullopt);
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(HttpClientTest, BodiesOfEverySizeArriveWhole) {
  const std::string bytes = PatternBytes(5'000'000);
  Serve([&](ServedExchange& exchange) {
    const auto size = static_cast<std::size_t>(std::stoul(exchange.request().path.substr(2)));
    const bool is_chunked = exchange.request().path[1] == 'c';
    exchange.Begin(200, {}, is_chunked ? std::nullopt : std::optional<std::uint64_t>(size));
    for (std::size_t at = 0; at < size; at += 70'001)
      exchange.Write(std::string_view(bytes).substr(at, std::min<std::size_t>(70'001, size - at)));
  });
  for (const std::size_t size : {0u, 1u, 16'384u, 524'288u, 524'289u, 5'000'000u})
    for (const char* kind : {"c", "l"})
      EXPECT_TRUE(Body(Get(StrCat("/", kind, size))) == bytes.substr(0, size)) << kind << size;
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpClientTest, ReadsInSmallPiecesLoseNothing) {
  const std::string bytes = PatternBytes(3'000'000);
  Serve([&](ServedExchange& exchange) { exchange.Answer(200, {}, bytes); });
  const auto exchange = client_->Start(Get("/"), {});
  ASSERT_TRUE(exchange.ok());
  Status status;
  EXPECT_TRUE(ReadAll(**exchange, status, 777) == bytes);
  EXPECT_TRUE(status.ok());
}

TEST_F(HttpClientTest, ABodyThatNobodyReadsWaitsAtItsServer) {
  std::atomic<std::size_t> written = 0;
  std::atomic<bool> ended = false;
  Serve([&](ServedExchange& exchange) {
    exchange.Begin(200, {}, std::uint64_t{1} << 40);
    const std::string piece(1 << 20, 'x');
    while (exchange.Write(piece)) written += piece.size();
    ended = true;
    ended.notify_all();
  });
  {
    const auto exchange = client_->Start(Get("/"), {});
    ASSERT_TRUE(exchange.ok());
    std::string piece(64 << 10, '\0');
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*exchange)->Read(piece).ok());  // 64 MiB at most
    EXPECT_LE(written, std::size_t{96} << 20) << "what is not read piles up somewhere";
  }
  ended.wait(false);  // the connection of an exchange that was given up is closed
}

TEST_F(HttpClientTest, HeadAndAnswersWithoutBodyEndAtOnce) {
  Serve([](ServedExchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path == "/head") exchange.Begin(200, {}, 12345);
    if (path == "/204") exchange.Answer(204, {}, "");
    if (path == "/304") exchange.Begin(304, {}, 77);
  });
  HttpRequest head = Get("/head");
  head.method = "HEAD";
  const auto answer = Fetched(head);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->response.Header("content-length"), "12345");
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(Body(Get("/204")), "");
  EXPECT_EQ(Body(Get("/304")), "");
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpClientTest, AnswersBeforeTheAnswerAreSkipped) {
  Serve([](ServedExchange& exchange) {
    exchange.Begin(102, {{"X-One", "early"}}, {});
    exchange.Begin(103, {{"Link", "early"}}, {});
    SayHello(exchange);
  });
  const auto answer = Fetched(Get("/"));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->response.status, 200);
  EXPECT_EQ(answer->response.Header("link"), std::nullopt);
  EXPECT_EQ(answer->response.Header("x-one"), "1");
}

// ------------------------------------------------------------------------------------- connections

TEST_F(HttpClientTest, KeepsOneConnectionForRequestsOneAfterAnother) {
  Serve([](ServedExchange& exchange) {
    std::string body;
    if (exchange.ReadWholeBody(body)) exchange.Answer(200, {}, body);
  });
  for (int i = 0; i < 20; ++i) {
    HttpRequest request = Get("/");
    request.method = i % 2 == 0 ? "GET" : "POST";
    request.body = i % 2 == 0 ? "" : PatternBytes(100'000);
    EXPECT_TRUE(Body(request) == request.body);
  }
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpClientTest, ConnectionsAreKeptFromThreadToThread) {
  Serve(SayHello);
  for (int i = 0; i < 5; ++i) std::thread([&] { EXPECT_EQ(Body(Get("/")), "hello"); }).join();
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpClientTest, EightThreadsAtOnceUseEightConnectionsAtMost) {
  const std::string bytes = PatternBytes(300'000);
  Serve([&](ServedExchange& exchange) {
    std::string body;
    ASSERT_TRUE(exchange.ReadWholeBody(body));
    exchange.Answer(200, {}, StrCat(body, bytes));
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i) {
        HttpRequest request = Get("/");
        request.method = "PUT";
        request.body = StrCat(thread, " ", i, " ");
        EXPECT_TRUE(Body(request) == request.body + bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(server_->connections(), 8);
}

TEST_F(HttpClientTest, AnExchangeOutlivesItsClient) {
  Serve(SayHello);
  auto exchange = client_->Start(Get("/"), {});
  ASSERT_TRUE(exchange.ok());
  client_.reset();
  Status status;
  EXPECT_EQ(ReadAll(**exchange, status), "hello");
}

TEST_F(HttpClientTest, AnAnswerThatIsNotReadKeepsItsConnectionWhenItIsSmall) {
  Serve(SayHello);
  for (int i = 0; i < 5; ++i) {
    const auto exchange = client_->Start(Get("/"), {});
    ASSERT_TRUE(exchange.ok());
  }
  EXPECT_EQ(server_->connections(), 1);
}

/// Closes each connection in place of answering the second request on it: as a server does whose patience
/// with an idle connection ends at the moment in which the request is sent.
class ClosesAfterOne {
 public:
  void operator()(ServedExchange& exchange) {
    std::string body;
    const bool is_second = ++seen_ == 2;
    if (is_second) return exchange.HangUp();
    if (exchange.ReadWholeBody(body)) exchange.Answer(200, {}, StrCat("answer ", seen_.load()));
  }
  int seen() const { return seen_; }

 private:
  std::atomic<int> seen_ = 0;
};

TEST_F(HttpClientTest, AConnectionThatWasClosedMeanwhileIsReplacedWhereTwiceIsAsGoodAsOnce) {
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE"}) {
    ClosesAfterOne closing;
    Serve([&](ServedExchange& exchange) { closing(exchange); });
    EXPECT_EQ(Body(Get("/")), "answer 1");
    HttpRequest request = Get("/");
    request.method = method;
    if (request.method == "PUT") request.body = PatternBytes(200'000);
    const auto answer = Fetched(request);
    EXPECT_TRUE(answer.ok()) << method << ": " << answer.status().message();
    EXPECT_EQ(closing.seen(), 3);
    server_.reset();
  }
}

TEST_F(HttpClientTest, WhatMightHappenTwiceIsNotSentTwice) {
  for (const std::string& body : {std::string(), std::string("body"), PatternBytes(200'000)}) {
    ClosesAfterOne closing;
    Serve([&](ServedExchange& exchange) { closing(exchange); });
    EXPECT_EQ(Body(Get("/")), "answer 1");
    HttpRequest request = Get("/");
    request.method = "POST";
    request.body = body;
    EXPECT_EQ(Failure(request).code(), Code::kUnavailable);
    EXPECT_EQ(closing.seen(), 2);
    EXPECT_EQ(Body(request), "answer 3") << "the client is of no use any more";
    server_.reset();
  }
}

// ------------------------------------------------------------------------------------------ bodies

TEST_F(HttpClientTest, SendsAPartOfAFileWhileItIsRead) {
  const std::string bytes = PatternBytes(9'000'000);
  Serve([](ServedExchange& exchange) {
    EXPECT_EQ(exchange.request().Header("expect"), "");
    EXPECT_EQ(exchange.request().Header("content-type"), "");
    std::string body;
    if (exchange.ReadWholeBody(body))
      exchange.Answer(200, {{"X-Length", std::string(exchange.request().Header("content-length"))}}, body);
  });
  const MemoryFile file(bytes, 100'000);
  for (const char* method : {"PUT", "POST", "PATCH"}) {
    HttpRequest request = Get("/");
    request.method = method;
    request.file = &file;
    request.body_offset = 1'000'001;
    request.body_bytes = 7'000'000;
    const auto answer = Fetched(request);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_TRUE(answer->body == bytes.substr(1'000'001, 7'000'000));
    EXPECT_EQ(answer->response.Header("x-length"), "7000000");
    request.body_bytes = 0;
    EXPECT_EQ(Body(request), "");
  }
}

TEST_F(HttpClientTest, AFileThatCannotBeReadIsTheFailure) {
  Serve([](ServedExchange& exchange) {
    std::string body;
    EXPECT_FALSE(exchange.ReadWholeBody(body)) << "a part was taken for the whole";
  });
  const MemoryFile file("too short");
  HttpRequest request = Get("/");
  request.method = "PUT";
  request.file = &file;
  request.body_bytes = 100;
  const Status failure = Failure(request);
  EXPECT_EQ(failure.code(), Code::kDataLoss);
  EXPECT_NE(failure.message().find("ends 91 bytes too early"), std::string_view::npos) << failure.message();
}

TEST_F(HttpClientTest, ARefusalInTheMiddleOfABodyIsHeard) {
  for (const bool closes : {false, true}) {
    Serve([&](ServedExchange& exchange) {
      std::string piece(1000, '\0');
      std::size_t got = 0;
      EXPECT_TRUE(exchange.ReadBody(piece, got));
      std::vector<HttpHeader> headers;
      if (closes) headers.push_back({"Connection", "close"});
      exchange.Answer(413, headers, "too large");
    });
    HttpRequest request = Get("/");
    request.method = "PUT";
    request.body = std::string(8 << 20, 'x');
    const auto answer = Fetched(request);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(answer->response.status, 413);
    EXPECT_EQ(answer->body, "too large");
    server_.reset();
  }
}

TEST_F(HttpClientTest, FetchTakesNoMoreThanItWasTold) {
  Serve([](ServedExchange& exchange) { exchange.Answer(200, {}, std::string(100'000, 'x')); });
  EXPECT_TRUE(Fetch(*client_, Get("/"), 100'000).ok());
  EXPECT_EQ(Fetch(*client_, Get("/"), 99'999).status().code(), Code::kResourceExhausted);
}

// ------------------------------------------------------------------------------------------ faults

TEST_F(HttpClientTest, WhatBreaksMayPassWhenItIsTriedAgain) {
  Serve([](ServedExchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path == "/reset") exchange.Reset();
    if (path == "/nothing") exchange.HangUp();
    if (path == "/half-headers") exchange.WriteRaw("HTTP/1.1 200 OK\r\nContent-Len");
    if (path == "/bad-length") exchange.WriteRaw("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhello");
  });
  for (const char* path : {"/reset", "/nothing", "/half-headers", "/bad-length"}) {
    const Status failure = Failure(Get(path));
    EXPECT_EQ(failure.code(), Code::kUnavailable) << path << ": " << failure.message();
    EXPECT_EQ(failure.message().substr(0, server_->url().size()), server_->url()) << failure.message();
  }
  server_.reset();
  EXPECT_EQ(Failure({.url = "http://127.0.0.1:1/"}).code(), Code::kUnavailable);
  EXPECT_EQ(Failure({.url = "http://no-such-host.invalid/"}).code(), Code::kUnavailable);
}

TEST_F(HttpClientTest, ABodyThatEndsBeforeItsLengthIsAFailure) {
  Serve([](ServedExchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.substr(0, 6) == "/chunk") {
      exchange.WriteRaw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
      if (path == "/chunk-garbage") exchange.WriteRaw("zzz\r\nhello\r\n0\r\n\r\n");
      return;
    }
    exchange.Begin(200, {}, 10);
    exchange.Write("hello");
    if (path == "/reset") exchange.Reset();
  });
  EXPECT_EQ(Failure(Get("/reset")).code(), Code::kUnavailable);  // it may overtake the headers
  for (const char* path : {"/short", "/chunk-missing", "/chunk-garbage"}) {
    const Status failure = FailureOfBody(Get(path));
    EXPECT_EQ(failure.code(), Code::kUnavailable) << path << ": " << failure.message();
    EXPECT_EQ(body_before_, "hello") << path;
  }
}

TEST_F(HttpClientTest, BytesBehindTheLengthAreNotTakenForAnything) {
  Serve([](ServedExchange& exchange) {
    if (exchange.request().path == "/") return SayHello(exchange);
    exchange.WriteRaw(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  });
  EXPECT_EQ(Body(Get("/more")), "hello");
  EXPECT_EQ(Body(Get("/")), "hello");
}

TEST_F(HttpClientTest, HeadersWithoutEndAreRefused) {
  Serve([](ServedExchange& exchange) {
    const bool is_one_line = exchange.request().path == "/line";
    exchange.WriteRaw("HTTP/1.1 200 OK\r\nX: ");
    for (int i = 0; i < 1000; ++i)
      if (!exchange.WriteRaw(is_one_line ? std::string(1000, 'x')
                                         : StrCat(std::string(1000, 'x'), "\r\nX: ")))
        break;
  });
  for (const char* path : {"/line", "/lines"}) {
    const Status failure = Failure(Get(path));
    EXPECT_EQ(failure.code(), Code::kInvalidArgument) << failure.message();
    EXPECT_NE(failure.message().find("headers are larger"), std::string_view::npos) << failure.message();
  }
}

TEST_F(HttpClientTest, WhatIsNotHttpIsToldAsSuch) {
  Serve([](ServedExchange& exchange) { exchange.WriteRaw("SSH-2.0-OpenSSH_9.2\r\n"); });
  const Status failure = Failure(Get("/"));
  EXPECT_EQ(failure.code(), Code::kInvalidArgument);
  EXPECT_NE(failure.message().find("does not answer in HTTP"), std::string_view::npos) << failure.message();
}

TEST_F(HttpClientTest, AServerThatStallsIsGivenUp) {
  Limit({.stall = milliseconds(100)});
  Serve([](ServedExchange& exchange) {
    if (exchange.request().path == "/body") exchange.Begin(200, {}, 100), exchange.Write("hello");
    exchange.Stall(std::chrono::minutes(5));
  });
  const Status failure = Failure(Get("/headers"));
  EXPECT_EQ(failure.code(), Code::kUnavailable);
  EXPECT_NE(failure.message().find("no byte came or went for 100 ms"), std::string_view::npos)
      << failure.message();
  EXPECT_EQ(FailureOfBody(Get("/body")).code(), Code::kUnavailable);
  EXPECT_EQ(body_before_, "hello");
}

TEST_F(HttpClientTest, AServerThatTakesNoBytesIsGivenUp) {
  Limit({.stall = milliseconds(100)});
  Serve([](ServedExchange& exchange) { exchange.Stall(std::chrono::minutes(5)); });
  HttpRequest request = Get("/");
  request.method = "PUT";
  request.body = std::string(16 << 20, 'x');
  EXPECT_EQ(Failure(request).code(), Code::kUnavailable);
}

TEST_F(HttpClientTest, TricklingIsNotStalling) {
  Limit({.stall = milliseconds(2000)});
  Serve([](ServedExchange& exchange) {
    exchange.Begin(200, {}, 10);
    for (int i = 0; i < 10; ++i) {
      exchange.Write("x");
      exchange.Stall(milliseconds(300));  // ten of them are longer than the limit
    }
  });
  EXPECT_EQ(Body(Get("/")), "xxxxxxxxxx");
}

TEST_F(HttpClientTest, AReaderThatTakesItsTimeIsNoStall) {
  Limit({.stall = milliseconds(50)});
  const std::string bytes = PatternBytes(8 << 20);
  Serve([&](ServedExchange& exchange) {
    const bool is_slow = exchange.request().path == "/slow";
    if (is_slow) exchange.Stall(milliseconds(200));
    exchange.Answer(200, {}, is_slow ? "" : bytes);
  });
  const auto exchange = client_->Start(Get("/"), {});
  ASSERT_TRUE(exchange.ok());
  std::string start(10, '\0');
  ASSERT_TRUE(ReadExactly(**exchange, start).ok());
  const auto patient = NewHttpClient();
  ASSERT_TRUE(Fetch(*patient, Get("/slow"), 10).ok());  // takes longer than the limit
  Status status;
  EXPECT_TRUE(start + ReadAll(**exchange, status) == bytes) << status.message();
}

TEST_F(HttpClientTest, AStopEndsWhateverItWaitsFor) {
  std::stop_source stop;
  Serve([&](ServedExchange& exchange) {
    if (exchange.request().path == "/body") exchange.Begin(200, {}, 100), exchange.Write("hello");
    stop.request_stop();
    exchange.Stall(std::chrono::minutes(5));
  });
  for (const char* path : {"/headers", "/body"}) {
    stop = std::stop_source();
    EXPECT_EQ(Fetched(Get(path), stop.get_token()).status().code(), Code::kCancelled);
  }
  EXPECT_EQ(Fetched(Get("/"), stop.get_token()).status().code(), Code::kCancelled)
      << "stopped before it began";
}

// --------------------------------------------------------------------------------------- redirects

TEST_F(HttpClientTest, FollowsRedirectsAsFarAsItIsTold) {
  Serve([](ServedExchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path == "/end") return exchange.Answer(200, {}, "the end"), void();
    const int left = path[1] - '0';
    const int status = std::array{301, 302, 303, 307, 308}[static_cast<std::size_t>(left % 5)];
    exchange.Answer(status, {{"Location", left == 0 ? "end" : StrCat("/", left - 1)}}, "moved");
  });
  HttpRequest request = Get("/5");
  request.redirects = 6;
  const auto answer = Fetched(request);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->body, "the end");
  EXPECT_EQ(answer->response.url, StrCat(server_->url(), "/end"));
  EXPECT_EQ(server_->connections(), 1);
  request.redirects = 5;
  EXPECT_EQ(Failure(request).code(), Code::kInvalidArgument);
  request.redirects = 0;
  EXPECT_EQ(Fetched(request)->response.status, 301);
  request.redirects = 6;
  request.method = "POST";
  EXPECT_EQ(Fetched(request)->response.status, 301) << "a body went where its sender did not send it";
}

TEST_F(HttpClientTest, ACircleEnds) {
  std::atomic<int> asked = 0;
  Serve([&](ServedExchange& exchange) {
    ++asked;
    exchange.Answer(302, {{"Location", exchange.request().path == "/a" ? "/b" : "/a"}}, "");
  });
  HttpRequest request = Get(StrCat("/a?", kSecret));
  request.redirects = 10;
  const Status failure = Failure(request);
  EXPECT_EQ(failure.code(), Code::kInvalidArgument);
  EXPECT_NE(failure.message().find("redirects more than 10 times"), std::string_view::npos)
      << failure.message();
  EXPECT_EQ(asked, 11);
}

TEST_F(HttpClientTest, LeavesTheWebForNobody) {
  Serve([](ServedExchange& exchange) {
    const std::map<std::string, std::string> places = {{"/file", "file:///etc/passwd"},
                                                       {"/ftp", "ftp://127.0.0.1/x"},
                                                       {"/gopher", "gopher://127.0.0.1:1/x"},
                                                       {"/data", "data:text/plain,x"},
                                                       {"/broken", "http://[::1"}};
    exchange.Answer(302, {{"Location", places.at(exchange.request().path)}}, "");
  });
  for (const char* path : {"/file", "/ftp", "/gopher", "/data", "/broken"}) {
    HttpRequest request = Get(path);
    request.redirects = 10;
    EXPECT_EQ(Failure(request).code(), Code::kInvalidArgument) << path;
  }
}

TEST_F(HttpClientTest, AnotherServerIsToldNoSecret) {
  std::vector<std::string> seen;
  const auto note = [&](ServedExchange& exchange) {
    seen.push_back(StrCat(exchange.request().Header("authorization"), exchange.request().Header("cookie"),
                          ",", exchange.request().Header("range")));
    SayHello(exchange);
  };
  const auto other = HttpServer::Start(note);
  Serve([&](ServedExchange& exchange) {
    if (exchange.request().path == "/here") return note(exchange);
    const bool stays = exchange.request().path == "/stay";
    exchange.Answer(307, {{"Location", stays ? "/here" : other->url() + "/there"}}, "");
  });
  for (const char* path : {"/stay", "/go"}) {
    HttpRequest request = Get(path);
    request.redirects = 1;
    request.headers = {{"authorization", "Bearer hush"}, {"Cookie", "c"}, {"Range", "bytes=0-"}};
    EXPECT_EQ(Body(request), "hello");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"Bearer hushc,bytes=0-", ",bytes=0-"}));
}

// ------------------------------------------------------------------------- what cannot be, secrets

TEST_F(HttpClientTest, RefusesWhatCannotBeAsked) {
  Serve(SayHello);
  for (const char* url :
       {"", "h/p", "ftp://h/p", "file:///etc/passwd", "http://", "http://h:99999/", "http://a b/"})
    EXPECT_EQ(Failure({.url = url}).code(), Code::kInvalidArgument) << url;
  for (const HttpHeader& header : {HttpHeader{"X", "a\r\nY: b"}, HttpHeader{"X: y\r\nZ", "b"},
                                   HttpHeader{"", "b"}, HttpHeader{"X", std::string("a\0b", 3)}}) {
    HttpRequest request = Get("/");
    request.headers = {header};
    EXPECT_EQ(Failure(request).code(), Code::kInvalidArgument) << header.name;
  }
  HttpRequest request = Get("/");
  request.method = "GET / HTTP/1.1\r\nX:";
  EXPECT_EQ(Failure(request).code(), Code::kInvalidArgument);
}

TEST_F(HttpClientTest, NoMessageHoldsASecret) {
  Limit({.stall = milliseconds(50)});
  Serve([](ServedExchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path == "/reset") return exchange.Reset();
    if (path == "/stall") return exchange.Stall(std::chrono::minutes(5));
    if (path == "/not-http") return exchange.WriteRaw("hush\r\n"), void();
    if (path == "/length")
      return exchange.WriteRaw("HTTP/1.1 200 OK\r\nContent-Length: hush\r\n\r\n"), void();
    if (path == "/circle") return exchange.Answer(302, {{"Location", "/circle?hush"}}, ""), void();
    if (path == "/ftp") return exchange.Answer(302, {{"Location", "ftp://hush@h/?hush"}}, ""), void();
    if (path == "/broken") return exchange.Answer(302, {{"Location", "http://[hush"}}, ""), void();
    if (path == "/big") return exchange.Answer(200, {}, std::string(1 << 20, 'x')), void();
  });
  const std::string at = StrCat("http://hush:hush@127.0.0.1:", server_->port());
  for (const std::string& url :
       {StrCat(at, "/reset?hush"), StrCat(at, "/stall?hush"), StrCat(at, "/not-http?hush"),
        StrCat(at, "/length?hush"), StrCat(at, "/circle?hush"), StrCat(at, "/ftp?hush"),
        StrCat(at, "/broken?hush"), StrCat(at, "/big?hush#hush"),
        std::string("http://hush:hush@h:99999/?hush"), std::string("http://u:hush/@127.0.0.1/"),
        std::string("http://u:hush?@127.0.0.1/"), std::string("http://hush:hush@127.0.0.1:1/?hush"),
        std::string("nonsense://hush:hush@h/?hush")}) {
    HttpRequest request{.url = url, .headers = {{"Authorization", "hush"}}, .body = "hush", .redirects = 3};
    request.method = url.find("circle") == std::string::npos ? "PUT" : "GET";
    if (url.find("ftp") != std::string::npos || url.find("broken") != std::string::npos)
      request.method = "GET";
    const Status failure = Fetch(*client_, request, 1000).status();
    EXPECT_FALSE(failure.ok()) << url;
    EXPECT_EQ(failure.message().find("hush"), std::string_view::npos) << failure.message();
  }
}

TEST_F(HttpClientTest, ACertificateThatNobodyVouchesForIsRefused) {
  TempDir dir;
  const std::string key = dir / "key.pem", certificate = dir / "certificate.pem";
  const auto maker = ChildProcess::Start(
      {.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                "-out", certificate}});
  ASSERT_TRUE(maker.ok()) << maker.status().message();
  ASSERT_TRUE((*maker)->Wait({}, milliseconds(0))->ok()) << (*maker)->StderrTail();
  const auto tls = ChildProcess::Start(
      {.argv = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificate, "-key", key}});
  ASSERT_TRUE(tls.ok()) << tls.status().message();
  std::string said, piece(100, '\0');
  while (said.find("ACCEPT 127.0.0.1:") == std::string::npos || said.back() != '\n') {
    const auto got = (*tls)->Read(piece, {});
    ASSERT_TRUE(got.ok() && *got > 0) << (*tls)->StderrTail();
    said.append(piece, 0, *got);
  }
  const std::string port = said.substr(said.find("127.0.0.1:") + 10, 5);
  const Status failure = Failure({.url = StrCat("https://127.0.0.1:", std::stoi(port), "/")});
  EXPECT_EQ(failure.code(), Code::kInvalidArgument);
  EXPECT_NE(failure.message().find("certificate does not hold"), std::string_view::npos) << failure.message();
}

// --------------------------------------------------------------------------------- rate and proxies

TEST_F(HttpClientTest, AllTransfersTogetherKeepToTheRate) {
  Limit({.bytes_per_second = 4 << 20});
  const std::string bytes = PatternBytes(512 << 10);
  Serve([&](ServedExchange& exchange) {
    std::string body;
    if (exchange.ReadWholeBody(body)) exchange.Answer(200, {}, body.empty() ? bytes : "");
  });
  const auto start = SystemClock().Monotonic();
  std::thread upload([&] {
    HttpRequest request = Get("/");
    request.method = "PUT";
    request.body = bytes;
    EXPECT_EQ(Body(request), "");
  });
  EXPECT_TRUE(Body(Get("/")) == bytes);
  EXPECT_TRUE(Body(Get("/")) == bytes);
  upload.join();
  // 1.5 MiB, but for what was saved up and the pieces that were under way at the end.
  EXPECT_GE(SystemClock().Monotonic() - start, milliseconds(150));
}

TEST_F(HttpClientTest, AsksThroughTheProxyOfTheEnvironmentButForCredentialsOfTheMachine) {
  std::vector<std::string> asked;
  Serve([&](ServedExchange& exchange) {
    asked.push_back(exchange.request().path);
    SayHello(exchange);
  });
  ASSERT_EQ(setenv("http_proxy", server_->url().c_str(), 1), 0);
  EXPECT_EQ(Body({.url = "http://somewhere.invalid/x"}), "hello");
  Limit({.connect = milliseconds(100), .stall = milliseconds(100)});
  HttpRequest direct{.url = "http://somewhere.invalid/y", .through_proxy = false};
  EXPECT_FALSE(Fetched(direct).ok());
  for (const char* url : {"http://metadata.google.internal/", "http://METADATA.google.internal./",
                          "http://169.254.169.254:80/"}) {
    const auto answer = Fetched({.url = url});
    EXPECT_FALSE(answer.ok() && answer->body == "hello") << url;
  }
  ASSERT_EQ(unsetenv("http_proxy"), 0);
  EXPECT_EQ(asked, std::vector<std::string>{"http://somewhere.invalid/x"});
}

TEST_F(HttpClientTest, WhileAPersonWaitsASilentServerIsGivenUp) {
  Serve([](ServedExchange& exchange) { exchange.Stall(milliseconds(20'000)); });
  std::stop_source person;
  const Attendance attendance(person.get_token(),
                              {.silence = milliseconds(50), .patience = milliseconds(200)});
  const auto begun = std::chrono::steady_clock::now();
  const Status silent = Failure(Get("/x"));
  EXPECT_EQ(silent.code(), Code::kUnavailable) << silent.message();
  EXPECT_NE(silent.message().find("gives no answer"), std::string_view::npos) << silent.message();
  EXPECT_NE(silent.Detail<SameAnswer>(), nullptr) << "another attempt has no patience";
  EXPECT_NE(Failure(Get("/y")).Detail<SameAnswer>(), nullptr) << "nor has another request";
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(HttpClientTest, ThePersonEndsARequestThatHasNoStopOfItsOwn) {
  Serve([](ServedExchange& exchange) { exchange.Stall(milliseconds(20'000)); });
  std::stop_source person;
  const Attendance attendance(person.get_token());
  const std::jthread signal([&] {
    std::this_thread::sleep_for(milliseconds(50));
    person.request_stop();
  });
  EXPECT_EQ(Failure(Get("/x")).code(), Code::kCancelled);
}

TEST_F(HttpClientTest, ANameThatNoNameServerKnowsIsTheSameAnswerForAPersonOnly) {
  const HttpRequest unknown{.url = "http://no-such-name.invalid/x"};
  EXPECT_EQ(Failure(unknown).Detail<SameAnswer>(), nullptr);
  const Attendance attendance({});
  const Status told = Failure(unknown);
  EXPECT_EQ(told.code(), Code::kUnavailable);
  // A machine without name servers cannot know.
  const bool knows = told.Detail<SameAnswer>() != nullptr;
  EXPECT_EQ(told.message().find("check the address") != std::string_view::npos, knows) << told.message();
}

}  // namespace
}  // namespace pipeline
