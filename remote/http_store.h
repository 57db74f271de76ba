// The files below an address of a web server, to be read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "remote/http_client.h"
#include "remote/retry.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

/// What would write fails with kInvalidArgument, and so does List: a web server tells names to people only.
class HttpStore final : public Store {
 public:
  /// The names of objects go between the path of `base` and its query. The client is shared with the files
  /// that the store opens, which may outlive it; so must the clock and pause of `means`.
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
  std::string before_, after_;  // of a name in its URL
};

}  // namespace pipeline
