#include "storage/remote/web/http_store.h"

#include "base/str.h"
#include "storage/percent.h"
#include "storage/remote/http/http_facts.h"
#include "storage/remote/http/http_file.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Writing fails with kInvalidArgument, and so does List: HTTP has no listing that a program can read.
class HttpStore final : public Store {
 public:
  /// Object names are inserted between the path of `base` and its query. `client` is shared with the opened
  /// files, which may outlive the store; the clock and pause of `means` outlive those files.
  HttpStore(std::shared_ptr<HttpClient> client, const Uri& base, const RetryMeans& means)
      : client_(std::move(client)), means_(means) {
    const std::string url = base.ToString();
    before_ = url.substr(0, url.find_first_of("?#"));
    after_ = url.substr(before_.size());
    after_ = after_.substr(0, after_.find('#'));  // no server gets the fragment
    if (before_.back() != '/') before_.push_back('/');
  }

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    ASSIGN_OR_RETURN(std::string url, UrlOf(name));
    return HttpFile::Open(client_, std::move(url), {means_});
  }

  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition) override {
    RETURN_IF_ERROR(CheckObjectName(name));
    return ReadOnly();
  }

  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override {
    ASSIGN_OR_RETURN(const std::string url, UrlOf(name));
    Result<HttpFacts> facts = AskFacts(*client_, url, {means_}, {});
    if (facts.ok() && !facts->coding.empty()) return EncodedAs(*std::move(facts), url);
    if (facts.ok()) return std::optional(ObjectInfo{std::string(name), facts->size, facts->Version(), {}});
    if (facts.status().code() == Code::kNotFound) return std::nullopt;
    return std::move(facts).status();
  }

  Result<std::vector<ObjectInfo>> List(std::string_view) override {
    return Status(Code::kInvalidArgument, StrCat(ShownUrl(before_),
                                                 ": the files below it cannot be listed: web servers "
                                                 "do not tell; name each file, or a directory"));
  }

  Status Remove(std::string_view name) override {
    RETURN_IF_ERROR(CheckObjectName(name));
    return ReadOnly();
  }

  Status Sweep(std::string_view) override { return ReadOnly(); }

 private:
  Result<std::string> UrlOf(std::string_view name) const {
    RETURN_IF_ERROR(CheckObjectName(name));
    return StrCat(before_, PercentEncode(name, "/"), after_);
  }

  Status ReadOnly() const {
    return Status(Code::kInvalidArgument,
                  StrCat(ShownUrl(before_), ": cannot be written to; name a directory"));
  }

  const std::shared_ptr<HttpClient> client_;
  const RetryMeans means_;
  std::string before_, after_;  // the URL before and after the name
};

}  // namespace

std::unique_ptr<Store> NewHttpStore(std::shared_ptr<HttpClient> client, const Uri& base,
                                    const RetryMeans& means) {
  return std::make_unique<HttpStore>(std::move(client), base, means);
}

}  // namespace pipeline
