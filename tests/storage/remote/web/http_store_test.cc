#include "storage/remote/web/http_store.h"

#include "base/str.h"
#include "storage/memory_store.h"
#include "tests/storage/store_reading.h"
#include "tests/support/counted_pause.h"
#include "tests/support/http_server.h"

namespace pipeline {
namespace {

Uri UriOf(const std::string& text) { return Uri::Parse(text).value(); }

/// Serves the objects of a store below `/base`, as a web server does a directory.
class Shelf {
 public:
  Store& origin() { return objects_; }
  std::string url() const { return server_->url(); }

 private:
  static std::string Decoded(std::string_view path) {
    std::string name;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] == '%')
        name.push_back(static_cast<char>(std::stoi(std::string(path.substr(i + 1, 2)), nullptr, 16)));
      if (path[i] == '%')
        i += 2;
      else
        name.push_back(path[i]);
    }
    return name;
  }

  void Serve(ServedExchange& exchange) {
    const ServedRequest& request = exchange.request();
    const std::string name = Decoded(request.path).substr(std::string_view("/base/").size());
    const auto stat = objects_.Stat(name);
    const auto file = objects_.Open(name);
    if (!stat.ok() || !file.ok() || request.path.substr(0, 6) != "/base/" ||
        request.Argument("sig") != "hush") {
      exchange.Answer(404, {}, "");
      return;
    }
    const std::string etag = StrCat("\"", (*stat)->version, "\"");
    const std::string_view range = request.Header("range"), condition = request.Header("if-range");
    const bool is_part = !range.empty() && (condition.empty() || condition == etag);
    const std::uint64_t size = (*file)->size();
    const std::uint64_t first = is_part ? std::stoull(std::string(range.substr(6))) : 0;
    std::vector<HttpHeader> headers = {{"ETag", etag}};
    if (is_part) headers.push_back({"Content-Range", StrCat("bytes ", first, "-", size - 1, "/", size)});
    if (!exchange.Begin(is_part ? 206 : 200, headers, size - first)) return;
    if (request.method != "HEAD") exchange.Write(BytesFrom(**file, first));
  }

  MemoryStore objects_;
  std::unique_ptr<HttpServer> server_ =
      HttpServer::Start([this](ServedExchange& exchange) { Serve(exchange); });
};

class HttpBackend {
 public:
  Store& origin() { return shelf_.origin(); }
  Store& store() { return *store_; }

 private:
  Shelf shelf_;
  const std::unique_ptr<Store> store_ =
      NewHttpStore(NewHttpClient(), UriOf(shelf_.url() + "/base?sig=hush#hush"));
};
INSTANTIATE_TYPED_TEST_SUITE_P(Http, StoreReading, HttpBackend);

TEST(HttpStoreTest, SaysThatItCannotBeWrittenToOrListed) {
  const std::unique_ptr<Store> store =
      NewHttpStore(NewHttpClient(), UriOf("http://u:hush@127.0.0.1:1/base/?sig=hush"));
  for (const Status& refused :
       {WriteObject(*store, "a", "1", {}).status(), store->Remove("a"), store->Sweep("")}) {
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_EQ(refused.message(), "http://127.0.0.1:1/base/: cannot be written to; name a directory");
  }
  const Status listed = store->List("").status();
  EXPECT_EQ(listed.code(), Code::kInvalidArgument);
  EXPECT_EQ(listed.message().find("http://127.0.0.1:1/base/: the files below it cannot be listed"), 0u);
}

TEST(HttpStoreTest, FilesOutliveTheStore) {
  Shelf shelf;
  ASSERT_TRUE(WriteObject(shelf.origin(), "a", "bytes", {}).ok());
  auto store = NewHttpStore(NewHttpClient(), UriOf(shelf.url() + "/base/?sig=hush"));
  const auto file = store->Open("a");
  ASSERT_TRUE(file.ok()) << file.status().message();
  store.reset();
  EXPECT_EQ(BytesFrom(**file, 0), "bytes");
}

TEST(HttpStoreTest, WhatTheServerKeepsFromUsIsNoAbsence) {
  FakeClock clock;
  CountedPause pause(&clock);
  int status = 403;
  const auto server = HttpServer::Start([&](ServedExchange& exchange) { exchange.Answer(status, {}, ""); });
  const std::unique_ptr<Store> store =
      NewHttpStore(NewHttpClient(), UriOf(server->url()), {.policy = {}, .clock = &clock, .pause = &pause});
  EXPECT_EQ(store->Stat("a").status().code(), Code::kPermissionDenied);
  status = 500;
  EXPECT_EQ(store->Stat("a").status().code(), Code::kUnavailable);
  status = 410;
  EXPECT_TRUE(store->Stat("a").ok());
}

}  // namespace
}  // namespace pipeline
