#include "storage/remote/web/http_store.h"

#include "base/str.h"
#include "storage/object_name.h"
#include "storage/percent.h"
#include "storage/remote/http/http_facts.h"
#include "storage/remote/http/http_file.h"
#include "storage/uri.h"

namespace pipeline {

HttpStore::HttpStore(std::shared_ptr<HttpClient> client, const Uri& base, const RetryMeans& means)
    : client_(std::move(client)), means_(means) {
  const std::string url = base.ToString();
  before_ = url.substr(0, url.find_first_of("?#"));
  after_ = url.substr(before_.size());
  after_ = after_.substr(0, after_.find('#'));  // no server gets the fragment
  if (before_.back() != '/') before_.push_back('/');
}

Result<std::string> HttpStore::UrlOf(std::string_view name) const {
  RETURN_IF_ERROR(CheckObjectName(name));
  return StrCat(before_, PercentEncode(name, "/"), after_);
}

Result<std::unique_ptr<ByteFile>> HttpStore::Open(std::string_view name) {
  ASSIGN_OR_RETURN(std::string url, UrlOf(name));
  return HttpFile::Open(client_, std::move(url), {means_});
}

Result<std::optional<ObjectInfo>> HttpStore::Stat(std::string_view name) {
  ASSIGN_OR_RETURN(const std::string url, UrlOf(name));
  Result<HttpFacts> facts = AskFacts(*client_, url, {means_}, {});
  if (facts.ok() && !facts->coding.empty()) return EncodedAs(*std::move(facts), url);
  if (facts.ok()) return std::optional(ObjectInfo{std::string(name), facts->size, facts->Version(), {}});
  if (facts.status().code() == Code::kNotFound) return std::nullopt;
  return std::move(facts).status();
}

Result<std::unique_ptr<ObjectWriter>> HttpStore::Create(std::string_view name, Condition) {
  RETURN_IF_ERROR(CheckObjectName(name));
  return ReadOnly();
}

Result<std::vector<ObjectInfo>> HttpStore::List(std::string_view) {
  return Status(Code::kInvalidArgument, StrCat(ShownUrl(before_),
                                               ": the files below it cannot be listed: web servers "
                                               "do not tell; name each file, or a directory"));
}

Status HttpStore::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckObjectName(name));
  return ReadOnly();
}

Status HttpStore::Sweep(std::string_view) { return ReadOnly(); }

Status HttpStore::ReadOnly() const {
  return Status(Code::kInvalidArgument,
                StrCat(ShownUrl(before_), ": cannot be written to; name a directory"));
}

}  // namespace pipeline
