// What is asked of the fake itself, beside the API.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>

#include "tests/support/fake_gcs.h"

namespace pipeline {

namespace {

constexpr std::string_view kRetryTest = "/retry_test";

void AnswerJson(const FakeGcsCall& call, const Json& body) {
  call.exchange.Answer(200, {{"Content-Type", "application/json; charset=UTF-8"}}, body.Dump());
}

}  // namespace

Json FakeGcs::Counts() const {
  Json counts;
  counts["scenarios"] = Json(Json::Object{});
  for (const auto& [scenario, number] : world_.faults.Counts()) counts["scenarios"][scenario] = number;
  counts["overwritten"] = world_.objects.overwritten();
  counts["open_sessions"] = world_.uploads.open();
  counts["buckets"] = Json(Json::Object{});
  for (const auto& [name, books] : world_.objects.Books()) {
    Json& bucket = counts["buckets"][name];
    bucket["objects"] = books.objects;
    bucket["made"] = books.made;
    bucket["most_made"] = books.most_made;
    bucket["overwritten"] = books.overwritten;
  }
  int requests = 0;
  counts["operations"] = Json(Json::Object{});
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [operation, number] : requests_) {
      requests += number;
      counts["operations"][operation] = number;
    }
  }
  counts["requests"] = requests;
  counts["read_bytes"] = static_cast<std::int64_t>(world_.read_bytes);
  counts["moments"] = static_cast<std::int64_t>(world_.moments.passed());
  return counts;
}

void FakeGcs::HandleControl(const FakeGcsCall& call) {
  const std::string& path = call.request().path;
  if (path.substr(0, kRetryTest.size()) == kRetryTest) return HandleRetryTest(call);
  Json answer = Json(Json::Object{});
  if (path == "/fake/counts") {
    answer = Counts();
  } else if (path == "/fake/secrets") {
    answer["tokens"] = Json(Json::Array{});
    answer["sessions"] = Json(Json::Array{});
    const std::scoped_lock lock(mutex_);
    for (const std::string& token : tokens_) answer["tokens"].Append(token);
    for (const std::string& id : world_.uploads.ids()) answer["sessions"].Append(id);
  } else if (path == "/fake/faults") {
    std::string body;
    if (!call.exchange.ReadWholeBody(body)) return;
    const Result<Json> instructions = Json::Parse(body);
    if (!instructions.ok() || !world_.faults.AddAll(*instructions)) {
      call.Error(400, "invalid", "The fake does not know these faults.");
      return;
    }
  } else if (path == "/fake/slow") {
    const std::string text = call.Argument("ms");
    std::uint64_t milliseconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), milliseconds);
    world_.faults.Slow(call.Argument("part"), std::chrono::milliseconds(milliseconds));
  } else if (path == "/fake/hold") {
    const std::string text = call.Argument("after");
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    answer["held"] = world_.moments.HoldAfter(count);
  } else if (path == "/fake/objects" && call.request().method == "POST") {
    std::string body;
    if (!call.exchange.ReadWholeBody(body)) return;
    Json given = Json(Json::Object{});
    if (const std::string encoding = call.Argument("encoding"); !encoding.empty())
      given["contentEncoding"] = encoding;
    Put(call.Argument("bucket"), call.Argument("name"), body, given);
  } else if (path == "/fake/objects") {
    const std::string bucket = call.Argument("bucket");
    FakeListing all;
    all.most = std::numeric_limits<std::size_t>::max();
    for (const FakeObject& object : world_.objects.List(bucket, all).objects) {
      Json& shown = answer[object.name];
      shown["size"] = static_cast<std::int64_t>(object.content->size());
      shown["crc32c"] = CrcText(object.content->crc32c());
      shown["made"] = world_.objects.Made(bucket, object.name);
    }
  } else if (path == "/fake/content") {
    call.exchange.Answer(200, {}, Get(call.Argument("bucket"), call.Argument("name")));
    return;
  } else if (path == "/fake/release") {
    world_.moments.Release();
  } else {
    call.Error(404, "notFound", "Not Found");
    return;
  }
  AnswerJson(call, answer);
}

void FakeGcs::HandleRetryTest(const FakeGcsCall& call) {
  const std::string& path = call.request().path;
  std::optional<std::string> id = path.substr(std::min<std::size_t>(path.size(), kRetryTest.size() + 1));
  if (call.request().method == "POST") {
    std::string body;
    if (!call.exchange.ReadWholeBody(body)) return;
    const Result<Json> test = Json::Parse(body);
    id = test.ok() ? world_.faults.AddTest((*test)["instructions"]) : std::nullopt;
  }
  const std::optional<Json> shown = id ? world_.faults.ShowTest(*id) : std::nullopt;
  if (!id) {
    call.Error(400, "invalid", "The fake does not know these instructions.");
  } else if (!shown) {
    call.Error(404, "notFound", "There is no such retry test.");
  } else {
    if (call.request().method == "DELETE") world_.faults.RemoveTest(*id);
    call.Answer(*shown);
  }
}

}  // namespace pipeline
