#include "tests/support/fake_gcs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

#include "base/str.h"
#include "storage/percent.h"
#include "tests/support/fake_gcs_words.h"

namespace pipeline {

namespace {

using Kind = FakeFault::Kind;

/// The next segment of a path, decoded, and the `/` behind it.
std::string Segment(std::string_view& path) {
  const std::size_t slash = std::min(path.find('/'), path.size());
  const std::string segment = PercentDecode(path.substr(0, slash)).value_or("");
  path.remove_prefix(std::min(slash + 1, path.size()));
  return segment;
}

std::optional<std::uint64_t> Generation(const FakeGcsCall& call) {
  const std::string text = call.Argument("generation");
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return text.empty() ? std::nullopt : std::optional(number);
}

void Stat(const FakeGcsCall& call) {
  const std::optional<FakeObject> object =
      call.world.objects.Find(call.bucket, call.object, Generation(call));
  const int status = FakePreconditions::From(call.request()).Check(object ? &*object : nullptr);
  if (!object || status != 200) {
    call.Error(object ? status : 404);
  } else {
    call.Answer(FakeResource(*object, call.world.url));
  }
}

void Remove(const FakeGcsCall& call) {
  const FakeOutcome outcome = call.world.objects.Remove(call.bucket, call.object, Generation(call),
                                                        FakePreconditions::From(call.request()));
  if (call.fault.kind == Kind::kAfterCommit && outcome.status == 204) {
    call.world.faults.Count("N");
    if (call.fault.status == 0) return call.exchange.Reset();
    call.Error(call.fault.status);
  } else if (outcome.status == 204) {
    call.exchange.Answer(204, {}, "");
  } else {
    call.Error(outcome.status);
  }
}

void List(const FakeGcsCall& call) {
  FakeListing listing{call.Argument("prefix"), call.Argument("delimiter"), call.Argument("startOffset"),
                      call.Argument("endOffset"), call.Argument("pageToken")};
  if (const std::string most = call.Argument("maxResults"); !most.empty())
    listing.most = std::clamp<std::size_t>(static_cast<std::size_t>(std::atoi(most.c_str())), 1, 1000);
  FakePage page;
  if (call.fault.kind == Kind::kPages) listing.most = static_cast<std::size_t>(call.fault.number);
  if (call.fault.kind == Kind::kPages || call.fault.kind == Kind::kEmptyPage) call.world.faults.Count("I");
  if (call.fault.kind == Kind::kEmptyPage) {
    page.next = listing.token.empty() ? PercentEncode(std::string(1, '\x01')) : listing.token;
  } else {
    page = call.world.objects.List(call.bucket, listing);
  }
  Json answer;
  answer["kind"] = "storage#objects";
  for (const FakeObject& object : page.objects) answer["items"].Append(FakeResource(object, call.world.url));
  for (const std::string& prefix : page.prefixes) answer["prefixes"].Append(prefix);
  if (!page.next.empty()) answer["nextPageToken"] = page.next;
  call.Answer(answer);
}

Json BucketResource(const std::string& name, const FakeBucket& bucket) {
  Json resource;
  resource["kind"] = "storage#bucket";
  resource["id"] = name;
  resource["name"] = name;
  resource["location"] = bucket.location;
  resource["locationType"] = bucket.location.size() > 4 ? "region" : "multi-region";
  resource["storageClass"] = bucket.storage_class;
  resource["softDeletePolicy"]["retentionDurationSeconds"] = std::to_string(bucket.soft_delete_seconds);
  if (bucket.retention_seconds != 0)
    resource["retentionPolicy"]["retentionPeriod"] = std::to_string(bucket.retention_seconds);
  if (bucket.requester_pays) resource["billing"]["requesterPays"] = true;
  return resource;
}

FakeBucket BucketOf(const Json& resource) {
  FakeBucket bucket;
  bucket.location = resource["location"].AsString(bucket.location);
  bucket.soft_delete_seconds =
      std::atoll(std::string(resource["softDeletePolicy"]["retentionDurationSeconds"].AsString("0")).c_str());
  bucket.retention_seconds =
      std::atoll(std::string(resource["retentionPolicy"]["retentionPeriod"].AsString("0")).c_str());
  bucket.requester_pays = resource["billing"]["requesterPays"].AsBool();
  for (const Json& operation : resource["denied"].AsArray()) bucket.denied.emplace_back(operation.AsString());
  return bucket;
}

/// As the header Date has it; nothing where answers bear none.
std::vector<HttpHeader> JsonHeaders(const FakeGcsWorld& world) {
  std::vector<HttpHeader> headers = {{"Content-Type", "application/json; charset=UTF-8"}};
  if (world.dates == nullptr) return headers;
  const std::time_t now = world.dates->UnixMillis() / 1000;
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  headers.push_back({"Date", std::string(text.data(), size)});
  return headers;
}

}  // namespace

bool FakeGcsCall::Answer(const Json& body) const {
  world.moments.Pass();
  return exchange.Answer(200, JsonHeaders(world), KeepFields(body, Argument("fields")).Dump());
}

bool FakeGcsCall::Error(int status, std::string_view reason, std::string_view message) const {
  Json error;
  error["code"] = status;
  error["message"] = message;
  Json detail;
  detail["domain"] = "global";
  detail["reason"] = reason;
  detail["message"] = message;
  error["errors"].Append(detail);
  Json body;
  body["error"] = error;
  std::vector<HttpHeader> headers = JsonHeaders(world);
  if (fault.retry_after) headers.push_back({"Retry-After", std::to_string(*fault.retry_after)});
  return exchange.Answer(status, headers, body.Dump());
}

bool FakeGcsCall::Error(int status) const {
  switch (status) {
    case 304: return exchange.Answer(304, {}, "");
    case 401: return Error(401, "authError", "Invalid Credentials");
    case 403: return Error(403, "forbidden", "The caller does not have permission.");
    case 404: return Error(404, "notFound", StrCat("No such object: ", bucket, "/", object));
    case 412:
      return Error(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.");
    case 429:
      return Error(429, "rateLimitExceeded",
                   "The object exceeded the rate limit for object mutation operations.");
    default: return Error(status, "backendError", "We encountered an internal error. Please try again.");
  }
}

bool FakeGcsCall::AnswerMade(const FakeObject& made) const {
  if (fault.kind != Kind::kAfterCommit) return Answer(FakeResource(made, world.url));
  world.faults.Count("C");
  if (fault.status != 0) return Error(fault.status);
  exchange.Reset();
  return false;
}

bool FakeGcsCall::AnswerOutcome(const FakeOutcome& outcome) const {
  if (outcome.status == 429) world.faults.Count("O");
  return outcome.status == 200 ? AnswerMade(*outcome.object) : Error(outcome.status);
}

FakeGcs::FakeGcs(const FakeGcsOptions& options) : world_(*options.clock) {
  world_.keeping = options.keeping;
  if (options.with_dates) world_.dates = options.clock;
  // A request that comes before the URL is known waits for it.
  const std::scoped_lock lock(mutex_);
  server_ = HttpServer::Start([this](ServedExchange& exchange) { Handle(exchange); }, options.port,
                              options.address);
  world_.url = server_->url();
}

FakeGcs::~FakeGcs() {
  world_.moments.Release();
  server_.reset();
}

std::uint64_t FakeGcs::Put(const std::string& bucket, const std::string& name, std::string_view bytes,
                           const Json& given) {
  FakeObject object;
  object.bucket = bucket;
  object.name = name;
  object.given = given;
  const std::shared_ptr<FakeContent> content = world_.NewContent();
  content->Append(bytes);
  object.content = content;
  const FakeOutcome outcome = world_.objects.Put(std::move(object), {});
  return outcome.object ? outcome.object->generation : 0;
}

std::string FakeGcs::Get(const std::string& bucket, const std::string& name) const {
  const std::optional<FakeObject> object = world_.objects.Find(bucket, name);
  return object ? object->content->ReadAll() : "absent";
}

void FakeGcs::RequireToken(std::function<bool(std::string_view token)> accepts) {
  const std::scoped_lock lock(mutex_);
  accepts_ = std::move(accepts);
}

int FakeGcs::requests(const std::string& operation) const {
  const std::scoped_lock lock(mutex_);
  const auto found = requests_.find(operation);
  return found == requests_.end() ? 0 : found->second;
}

std::vector<std::string> FakeGcs::HeadersSent(const std::string& lower_case_name) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> values;
  for (const HttpHeader& header : headers_)
    if (header.name == lower_case_name) values.push_back(header.value);
  return values;
}

void FakeGcs::Handle(ServedExchange& exchange) {
  { const std::scoped_lock wait(mutex_); }
  FakeGcsCall call{world_, exchange, {}, {}, {}, {}, {}};
  const std::string& path = exchange.request().path;
  if (path.substr(0, 11) == "/retry_test" || path.substr(0, 6) == "/fake/") return HandleControl(call);
  if (path == "/batch/storage/v1") return HandleBatch(call);
  HandleRequest(call);
}

void FakeGcs::HandleRequest(FakeGcsCall& call) {
  const ServedRequest& request = call.request();
  std::string_view path = request.path;
  SkipWord(path, "/resumable");
  const bool upload = SkipWord(path, "/upload");
  const bool download = !upload && SkipWord(path, "/download");
  if (!SkipWord(path, "/storage/v1/b")) {
    call.Error(404, "notFound", "Not Found");
    return;
  }
  SkipWord(path, "/");
  if (path.find('/') == std::string_view::npos) return HandleBuckets(call, path);
  call.bucket = Segment(path);
  if (Segment(path) != "o") {
    call.Error(404, "notFound", "Not Found");
    return;
  }
  const std::string upload_id = call.Argument("upload_id");
  const std::string& method = request.method;
  call.object = Segment(path);
  if (upload) {
    const std::string range(request.Header("content-range"));
    call.object = call.Argument("name");
    call.operation = upload_id.empty()    ? call.Argument("uploadType") == "resumable" ? "start" : "whole"
                     : method == "DELETE" ? "cancel"
                     : range.find('*') < range.find('/') ? "query"
                                                         : "chunk";
    call.operation.insert(0, "storage.objects.insert.");
  } else if (path == "compose") {
    call.operation = "storage.objects.compose";
  } else if (SkipWord(path, "rewriteTo/b/")) {
    call.operation = "storage.objects.rewrite";
    call.source_bucket = std::exchange(call.bucket, Segment(path));
    SkipWord(path, "o/");
    call.source = std::exchange(call.object, Segment(path));
  } else if (call.object.empty()) {
    call.operation = "storage.objects.list";
  } else if (method == "DELETE") {
    call.operation = "storage.objects.delete";
  } else if (method == "GET") {
    const bool media = download || call.Argument("alt") == "media";
    call.operation = media ? "storage.objects.read" : "storage.objects.get";
  } else {
    call.Error(501, "notImplemented", "This fake has no such method.");
    return;
  }
  if (Admit(call)) HandleApi(call);
}

bool FakeGcs::Admit(FakeGcsCall& call) {
  world_.moments.Pass();
  const ServedRequest& request = call.request();
  const std::string_view authorization = request.Header("authorization");
  std::function<bool(std::string_view)> accepts;
  {
    const std::scoped_lock lock(mutex_);
    if (!call.in_batch) ++requests_[call.operation];
    headers_.insert(headers_.end(), request.headers.begin(), request.headers.end());
    if (headers_.size() > 10'000) headers_.erase(headers_.begin(), headers_.begin() + 5'000);
    accepts = accepts_;
    if (authorization.substr(0, 7) == "Bearer ") tokens_.emplace(authorization.substr(7));
  }
  const std::string upload_id = call.Argument("upload_id");
  const std::string subject = call.object.empty() ? upload_id : call.object;
  if (accepts && (authorization.substr(0, 7) != "Bearer " || !accepts(authorization.substr(7)))) {
    world_.faults.NoteRefused(subject);
    call.Error(401);
    return false;
  }
  const std::optional<FakeBucket> bucket = world_.objects.Bucket(call.bucket);
  call.fault = world_.faults.Take({call.operation, subject, std::string(request.Header("x-retry-test-id")),
                                   !authorization.empty(), bucket && bucket->others_write});
  const bool is_batch = call.operation == kFakeBatch;
  const FakeFault& fault = call.fault;
  if (fault.kind == Kind::kStatus && !fault.after) {
    world_.faults.Count(fault.status == 401                                    ? "E"
                        : fault.status == 429                                  ? "F"
                        : call.operation.find(".insert.") != std::string::npos ? "C"
                                                                               : "-");
    call.Error(fault.status);
    return false;
  }
  if (fault.kind == Kind::kReset && !fault.after && call.operation != "storage.objects.read") {
    world_.faults.Count("-");
    call.exchange.Reset();
    return false;
  }
  if (is_batch) return true;  // its parts name buckets
  if (!bucket) {
    call.Error(404, "notFound", "The specified bucket does not exist.");
    return false;
  }
  const auto denied = [&](const std::string& begin) { return call.operation.starts_with(begin); };
  if (bucket->forbidden || std::any_of(bucket->denied.begin(), bucket->denied.end(), denied)) {
    call.Error(403);
    return false;
  }
  // What is sent to a session was paid for at its start.
  if (bucket->requester_pays && upload_id.empty() && call.Argument("userProject").empty() &&
      request.Header("x-goog-user-project").empty()) {
    world_.faults.Count("R");
    call.Error(400, "required", "Bucket is a requester pays bucket but no user project provided.");
    return false;
  }
  return true;
}

void FakeGcs::HandleApi(FakeGcsCall& call) {
  const std::string& operation = call.operation;
  if (operation == "storage.objects.get") return Stat(call);
  if (operation == "storage.objects.read") return FakeRead(call);
  if (operation == "storage.objects.list") return List(call);
  if (operation == "storage.objects.delete") return Remove(call);
  if (operation == "storage.objects.compose") return FakeCompose(call);
  if (operation == "storage.objects.rewrite") return FakeRewrite(call);
  if (operation == "storage.objects.insert.whole") return FakeInsertWhole(call);
  if (operation == "storage.objects.insert.start") return FakeInsertStart(call);
  FakeInsertStep(call, call.Argument("upload_id"));
}

void FakeGcs::HandleBuckets(const FakeGcsCall& call, std::string_view rest) {
  if (call.request().method == "POST") {
    std::string body;
    if (!call.exchange.ReadWholeBody(body)) return;
    const Result<Json> resource = Json::Parse(body);
    const std::string name(resource.ok() ? (*resource)["name"].AsString() : "");
    if (name.empty()) {
      call.Error(400, "required", "Required");
    } else if (world_.objects.Bucket(name) && !resource->Has("denied")) {
      call.Error(409, "conflict", "Your previous request to create the named bucket succeeded.");
    } else {
      world_.objects.SetBucket(name, BucketOf(*resource));
      call.Answer(BucketResource(name, BucketOf(*resource)));
    }
    return;
  }
  FakeGcsCall get = call;
  get.operation = "storage.buckets.get";
  get.bucket = Segment(rest);
  if (Admit(get)) get.Answer(BucketResource(get.bucket, *world_.objects.Bucket(get.bucket)));
}

}  // namespace pipeline
