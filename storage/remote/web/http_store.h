// The files below an address of a web server, read only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

/// Writing fails with kInvalidArgument, and so does List: HTTP has no listing that a program can read.
class HttpStore final : public Store {
 public:
  /// Object names are inserted between the path of `base` and its query. `client` is shared with the opened
  /// files, which may outlive the store; the clock and pause of `means` outlive those files.
  HttpStore(std::shared_ptr<HttpClient> client, const Uri& base, const RetryMeans& means = {});

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  Status Remove(std::string_view name) override;
  Status Sweep(std::string_view prefix) override;

 private:
  Result<std::string> UrlOf(std::string_view name) const;
  Status ReadOnly() const;

  const std::shared_ptr<HttpClient> client_;
  const RetryMeans means_;
  std::string before_, after_;  // the URL before and after the name
};

}  // namespace pipeline
