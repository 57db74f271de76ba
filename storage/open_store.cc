#include "storage/open_store.h"

#include "base/str.h"
#include "storage/http_client.h"
#include "storage/http_store.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// The one of the process, shared by all its stores: a connection that one has left is of use to the next.
std::shared_ptr<HttpClient> SharedHttpClient() {
  static const std::shared_ptr<HttpClient> client = NewHttpClient();
  return client;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenStore(std::string_view uri) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  switch (place.scheme) {
    case Uri::Scheme::kFile: return std::unique_ptr<Store>(std::make_unique<LocalStore>(place.path));
    case Uri::Scheme::kGs:
      return Status(Code::kUnimplemented, StrCat(uri,
                                                 ": this version cannot read or write buckets; "
                                                 "name a local directory and copy it when it is done"));
    case Uri::Scheme::kHttp:
    case Uri::Scheme::kHttps:
      return std::unique_ptr<Store>(std::make_unique<HttpStore>(SharedHttpClient(), place));
  }
  return Status(Code::kInternal, StrCat(uri, ": a scheme without a store"));
}

}  // namespace pipeline
