// Small questions and orders about one object of a bucket.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "remote/gcs_client.h"
#include "remote/gcs_object.h"

namespace pipeline {

/// An object, or where one is going to be.
struct GcsPlace {
  std::shared_ptr<GcsClient> client;  // shared with the store, its files and its writers
  std::string bucket;
  std::string name;  // in the bucket, with the prefix of the store

  std::string Where() const;  // gs://bucket/name
};

/// Absent where there is no such object; a failure where there is no such bucket.
Result<std::optional<GcsObject>> StatGcsObject(const GcsPlace& place, std::stop_token stop);

/// Whatever is there is gone; OK also where nothing was.
Status RemoveGcsObject(const GcsPlace& place, std::stop_token stop);

/// Calls `visit` with every object of `bucket` whose name begins with `prefix`, in the order of names, page
/// by page.
Status ListGcsObjects(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                      std::string_view prefix, const std::function<Status(GcsObject)>& visit,
                      std::stop_token stop);

/// Calls `visit` with one page after another of the same; `by_level`: objects behind the next slash are
/// given as the prefix that they share.
Status ListGcsPages(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                    std::string_view prefix, bool by_level, const std::function<Status(GcsPage)>& visit,
                    std::stop_token stop);

/// A copy that the servers make, from any bucket of the same account. `generation` must be at `to` ("0":
/// nothing); absent where it is not, kDataLoss where `from` is no longer what it was.
Result<std::optional<GcsObject>> RewriteGcsObject(const GcsPlace& from, const GcsObject& source,
                                                  const GcsPlace& to, const std::string& generation,
                                                  const std::string& mark, std::stop_token stop);

}  // namespace pipeline
