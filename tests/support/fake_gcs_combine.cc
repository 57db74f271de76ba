#include <algorithm>
#include <optional>

#include "base/str.h"
#include "tests/support/fake_gcs_call.h"
#include "tests/support/fake_gcs_words.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxSources = 32;

std::optional<Json> Body(const FakeGcsCall& call) {
  std::string text;
  if (!call.exchange.ReadWholeBody(text)) return std::nullopt;
  Result<Json> body = text.empty() ? Result<Json>(Json(Json::Object{})) : Json::Parse(text);
  if (body.ok()) return std::move(body).value();
  call.Error(400, "parseError", "Parse Error");
  return std::nullopt;
}

}  // namespace

void FakeCompose(const FakeGcsCall& call) {
  const std::optional<Json> body = Body(call);
  if (!body) return;
  const Json::Array& sources = (*body)["sourceObjects"].AsArray();
  if (sources.empty() || sources.size() > kMaxSources) {
    call.Error(400, "invalid", "The number of source components provided must be between 1 and 32.");
    return;
  }
  FakeObject made;
  made.bucket = call.bucket;
  made.name = call.object;
  made.given = (*body)["destination"].is_object() ? (*body)["destination"] : Json(Json::Object{});
  const std::shared_ptr<FakeContent> content = call.world.NewContent();
  for (const Json& source : sources) {
    const std::optional<FakeObject> part =
        call.world.objects.Find(call.bucket, std::string(source["name"].AsString()));
    const auto generation = ParseWholeNumber(source["generation"].AsString());
    if (!part || (generation && *generation != part->generation)) {
      call.Error(404);
      return;
    }
    const auto expected = ParseWholeNumber(source["objectPreconditions"]["ifGenerationMatch"].AsString());
    if (expected && *expected != part->generation) {
      call.Error(412);
      return;
    }
    content->Append(*part->content);
    made.component_count += std::max<std::int64_t>(part->component_count, 1);
  }
  if (!HashesHold({}, made.given, *content)) {
    call.Error(400, "invalid", "Provided CRC32C doesn't match calculated CRC32C.");
    return;
  }
  made.content = content;
  call.AnswerOutcome(call.world.objects.Put(made, FakePreconditions::From(call.request())));
}

void FakeRewrite(const FakeGcsCall& call) {
  const std::optional<Json> body = Body(call);
  if (!body) return;
  const std::optional<FakeObject> source = call.world.objects.Find(
      call.source_bucket, call.source, ParseWholeNumber(call.Argument("sourceGeneration")));
  if (!source) {
    call.Error(404);
    return;
  }
  if (FakePreconditions::From(call.request(), "ifSource").Check(&*source) != 200) {
    call.Error(412);
    return;
  }
  std::string token = call.Argument("rewriteToken");
  std::shared_ptr<FakeSession> session = call.world.uploads.Find(token);
  if (token.empty()) {
    session = std::make_shared<FakeSession>();
    session->content = call.world.NewContent();
    token = call.world.uploads.Add(session);
  }
  if (session == nullptr || session->done) {
    call.Error(400, "invalid", "Invalid rewrite token.");
    return;
  }
  const std::scoped_lock lock(session->mutex);
  const std::uint64_t total = source->content->size();
  std::uint64_t most = call.world.rewrite_bytes;
  if (const auto asked = ParseWholeNumber(call.Argument("maxBytesRewrittenPerCall")))
    most = std::min(most, *asked);
  const std::uint64_t end = session->content->size() + std::min(most, total - session->content->size());
  std::string piece(256 << 10, '\0');
  while (session->content->size() < end) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), end - session->content->size()));
    const std::size_t got = source->content->Read(session->content->size(), std::span(piece).first(wanted));
    session->content->Append(std::string_view(piece).substr(0, got));
  }
  if (++session->rewrite_calls > 1) call.world.faults.Count("P");
  Json answer;
  answer["kind"] = "storage#rewriteResponse";
  answer["totalBytesRewritten"] = std::to_string(end);
  answer["objectSize"] = std::to_string(total);
  answer["done"] = end == total;
  if (end < total) {
    answer["rewriteToken"] = token;
    call.Answer(answer);
    return;
  }
  FakeObject made = *source;
  made.bucket = call.bucket;
  made.name = call.object;
  for (const auto& [member, value] : body->AsObject()) made.given[member] = value;
  made.content = session->content;
  const FakeOutcome outcome = call.world.objects.Put(made, FakePreconditions::From(call.request()));
  if (outcome.status != 200) {
    session->gone = outcome.status;
    call.Error(outcome.status);
    return;
  }
  session->done = outcome.object;
  if (call.fault.kind == FakeFault::Kind::kAfterCommit) {
    call.AnswerMade(*outcome.object);
    return;
  }
  answer["resource"] = FakeResource(*outcome.object, call.world.url);
  call.Answer(answer);
}

}  // namespace pipeline
