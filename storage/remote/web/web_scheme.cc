#include "storage/remote/web/web_scheme.h"

#include <chrono>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_file.h"
#include "storage/remote/http/http_text.h"
#include "storage/remote/web/http_store.h"

namespace pipeline {

namespace {

class WebOpener final : public RemoteOpener {
 public:
  Result<std::unique_ptr<Store>> OpenStore(const Uri& location) override {
    return NewHttpStore(SharedHttpClient(), location);
  }

  Result<RemoteFile> OpenFile(const Uri& location, const RemoteAsk& ask, std::stop_token stop) override {
    const std::string url = location.ToString();
    const HttpMeans means{{.policy = PolicyOf(ask)}, ask.stall};
    if (ask.pinned_size)
      return RemoteFile{HttpFile::Pinned(SharedHttpClient(), url, *ask.pinned_size, means), {}, {}};
    ASSIGN_OR_RETURN(std::shared_ptr<HttpFile> file,
                     HttpFile::Open(SharedHttpClient(), url, means, std::move(stop)));
    HttpFacts facts = file->facts();
    RemoteFile found{std::move(file), facts.Version(), {}, facts.takes_ranges};
    if (IsStrongTag(facts.etag))
      found.identity = StrCat(DigestOf(url).ToHex(), " ", facts.size, " ", facts.etag);
    found.facts = std::move(facts);
    return found;
  }

  Result<EncodedTransfer> OpenEncoded(const std::string& url, const RemoteAsk& ask, const HttpFacts* wanted,
                                      std::stop_token stop) override {
    ASSIGN_OR_RETURN(std::unique_ptr<HttpExchange> exchange,
                     SharedHttpClient()->Start(RequestFor(url, {.stall = ask.stall}), std::move(stop)));
    const HttpResponse& response = exchange->response();
    if (response.status != 200) return HttpError(response, url, "cannot read it");
    RETURN_IF_ERROR(CheckIsFile(response, url));
    EncodedTransfer transfer;
    const Status plain = CheckIsPlain(response, url);
    if (const auto* const encoded = plain.Detail<EncodedBody>()) transfer.coding = encoded->facts.coding;
    if (wanted != nullptr) {
      HttpFacts same = *wanted;
      if (same.coding != transfer.coding) same.etag.clear();  // which names one form of the file
      RETURN_IF_ERROR(CheckUnchanged(same, response, std::nullopt, false, url));
    }
    transfer.sent = std::move(exchange);
    return transfer;
  }
};

class WebCheckup final : public Checkup {
 public:
  WebCheckup(CheckTeller tell, std::stop_token stop) : tell_(std::move(tell)), stop_(std::move(stop)) {}

  void Check(const LocationUse& use) override {
    const std::string url = use.location.ToString();
    const RetryMeans means{.policy = kCheckupPolicy};
    const Result<std::unique_ptr<HttpFile>> file =
        HttpFile::Open(NewHttpClient({.connect = kCheckupConnect,
                                      .stall = kCheckupStall,
                                      .ca_file = FindCaFile(ProcessEnvironment())}),
                       url, {means}, stop_);
    if (file.ok())
      tell_(CheckLevel::kOk, StrCat(ShownUrl(url), ": ", HumanBytes((*file)->size())));
    else if (const EncodedBody* const encoded = file.status().Detail<EncodedBody>())  // a run decodes it
      tell_(CheckLevel::kOk, StrCat(ShownUrl(url), ": is sent encoded (", encoded->facts.coding, ")"));
    else
      tell_(CheckLevel::kWrong, std::string(file.status().message()));
  }
  void Finish() override {}

 private:
  const CheckTeller tell_;
  const std::stop_token stop_;
};

std::unique_ptr<RemoteOpener> Open(const StoreOptions&) { return std::make_unique<WebOpener>(); }

std::unique_ptr<Checkup> Check(CheckTeller tell, std::stop_token stop) {
  return std::make_unique<WebCheckup>(std::move(tell), std::move(stop));
}

}  // namespace

// One transfer at a time: a web server of a university locks out clients that open several.
constinit const RemoteScheme kHttpScheme{{"http", Scheme::Form::kWeb}, Open, Check};
constinit const RemoteScheme kHttpsScheme{{"https", Scheme::Form::kWeb}, Open, Check};

}  // namespace pipeline
