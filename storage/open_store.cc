#include "storage/open_store.h"

#include <chrono>
#include <utility>

#include "base/str.h"
#include "storage/http_client.h"
#include "storage/http_file.h"
#include "storage/http_store.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kPlanPatience{15};

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

bool IsRemote(std::string_view uri) {
  const Result<Uri> place = Uri::Parse(uri);
  return place.ok() && place->scheme != Uri::Scheme::kFile;
}

Result<RemoteFile> OpenRemoteFile(std::string_view uri, Patience patience, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  if (place.scheme == Uri::Scheme::kFile)
    return Status(Code::kInvalidArgument, StrCat(uri, ": is on this machine"));
  if (place.scheme == Uri::Scheme::kGs) return OpenStore(uri).status();
  RetryMeans means;
  // Somebody waits for the plan: a host that was mistyped should not take minutes to be told.
  if (patience == Patience::kPlan) means.policy = {.attempts = 4, .patience = kPlanPatience};
  ASSIGN_OR_RETURN(std::shared_ptr<HttpFile> file,
                   HttpFile::Open(SharedHttpClient(), place.ToString(), means, std::move(stop)));
  std::string version = file->facts().Version();
  return RemoteFile{std::move(file), std::move(version), {}};
}

}  // namespace pipeline
