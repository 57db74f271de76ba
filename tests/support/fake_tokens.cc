#include "tests/support/fake_tokens.h"

#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// By the path, whose first segment is the host that was meant.
std::string KindOf(std::string_view path) {
  if (path == "/oauth2.googleapis.com/token") return "oauth";
  if (path == "/sts.googleapis.com/v1/token") return "sts";
  if (EndsWith(path, ":generateAccessToken")) return "impersonate";
  if (path.find("/computeMetadata/") != std::string_view::npos) return "metadata";
  if (path == "/subject") return "subject";
  return path == "/" ? "ping" : "unknown";
}

}  // namespace

/// Sends what is meant for Google's servers to this one, with the host as first segment of the path.
class FakeTokens::Router final : public HttpClient {
 public:
  explicit Router(std::string url) : url_(std::move(url)), client_(NewHttpClient()) {}
  Result<std::unique_ptr<HttpExchange>> Start(const HttpRequest& request, std::stop_token stop) override {
    HttpRequest routed = request;
    for (const std::string_view scheme : {"https://", "http://"}) {
      const std::string_view url = request.url;
      const std::string_view host = url.substr(scheme.size(), url.find('/', scheme.size()) - scheme.size());
      const bool google = EndsWith(host, ".googleapis.com") || EndsWith(host, ".google.internal");
      if (url.substr(0, scheme.size()) == scheme && google)
        routed.url = StrCat(url_, "/", url.substr(scheme.size()));
    }
    return client_->Start(routed, std::move(stop));
  }

 private:
  const std::string url_;
  const std::unique_ptr<HttpClient> client_;
};

FakeTokens::FakeTokens()
    : server_(HttpServer::Start([this](ServedExchange& exchange) { Handle(exchange); })) {}

FakeTokens::~FakeTokens() {
  Release();
  server_.reset();
}

std::shared_ptr<HttpClient> FakeTokens::Client() { return std::make_shared<Router>(url()); }

void FakeTokens::Fail(const std::string& kind, int status, int times, const std::string& error) {
  const std::scoped_lock lock(mutex_);
  failures_[kind] = {status, times, error};
}

void FakeTokens::SetLifetime(std::chrono::seconds lifetime) {
  const std::scoped_lock lock(mutex_);
  lifetime_ = lifetime;
}

void FakeTokens::ForgetFlavor() {
  const std::scoped_lock lock(mutex_);
  flavor_ = false;
}

void FakeTokens::Plan(std::uint64_t seed, double rate, std::function<void()> struck) {
  const std::scoped_lock lock(mutex_);
  random_.seed(seed);
  rate_ = rate;
  struck_ = std::move(struck);
}

FakeTokens::Day FakeTokens::NextDay() {
  if (rate_ == 0 || static_cast<double>(random_() >> 11) * 0x1p-53 >= rate_) return Day::kGood;
  constexpr Day kTurns[] = {Day::kSlow, Day::kNoAccount, Day::kNoFlavor, Day::kShort};
  struck_();
  return kTurns[strikes_++ % std::size(kTurns)];
}

void FakeTokens::Hold(const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  held_ = kind;
}

void FakeTokens::Release() {
  const std::scoped_lock lock(mutex_);
  held_.clear();
  released_.notify_all();
}

int FakeTokens::requests(const std::string& kind) const {
  const std::scoped_lock lock(mutex_);
  const auto found = requests_.find(kind);
  return found == requests_.end() ? 0 : found->second;
}

std::string FakeTokens::last_body(const std::string& kind) const {
  const std::scoped_lock lock(mutex_);
  const auto found = bodies_.find(kind);
  return found == bodies_.end() ? "" : found->second;
}

std::string FakeTokens::last_authorization(const std::string& kind) const {
  const std::scoped_lock lock(mutex_);
  const auto found = authorizations_.find(kind);
  return found == authorizations_.end() ? "" : found->second;
}

bool FakeTokens::Knows(std::string_view token) const {
  const std::scoped_lock lock(mutex_);
  return given_.count(token) != 0;
}

bool FakeTokens::IsGood(std::string_view token) const {
  const std::scoped_lock lock(mutex_);
  const auto given = given_.find(token);
  return given != given_.end() && SystemClock().Monotonic() < given->second;
}

void FakeTokens::Handle(ServedExchange& exchange) {
  const ServedRequest& request = exchange.request();
  const std::string kind = KindOf(request.path);
  std::string body;
  if (!exchange.ReadWholeBody(body)) return;
  std::unique_lock lock(mutex_);
  const int number = ++requests_[kind];
  bodies_[kind] = body;
  authorizations_[kind] = request.Header("authorization");
  released_.wait(lock, [&] { return held_ != kind; });
  const bool of_machine = kind == "metadata" || kind == "ping";
  std::vector<HttpHeader> headers = {{"Content-Type", "application/json"}};
  const Day day = kind == "metadata" ? NextDay() : Day::kGood;
  if (of_machine && flavor_ && day != Day::kNoFlavor) headers.push_back({"Metadata-Flavor", "Google"});
  int status = kind == "unknown" || (of_machine && request.Header("metadata-flavor") != "Google") ? 403 : 200;
  if (day == Day::kNoAccount) status = 404;
  const std::chrono::seconds lifetime = day == Day::kShort ? std::chrono::seconds(1) : lifetime_;
  Json answer;
  if (Failure& failure = failures_[kind]; failure.times > 0) {
    --failure.times;
    status = failure.status;
    answer["error"] = failure.error;
  } else if (status == 200) {
    const std::string token = StrCat("fake-", kind, "-", number);
    given_[token] = SystemClock().Monotonic() + lifetime;
    answer[kind == "impersonate" ? "accessToken" : kind == "subject" ? "value" : "access_token"] = token;
    answer["token_type"] = "Bearer";
    answer["expires_in"] = lifetime.count();
  }
  lock.unlock();
  if (day == Day::kSlow) exchange.Stall(std::chrono::milliseconds(300));
  exchange.Answer(status, headers, answer.Dump());
}

}  // namespace pipeline
