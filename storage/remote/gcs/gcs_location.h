// Requests about one object of a bucket: stat, remove, list, server-side copy.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_object.h"

namespace pipeline {

/// The location of an object, which may not exist yet.
struct GcsLocation {
  std::shared_ptr<GcsClient> client;  // shared with the store, its files and its writers
  std::string bucket;
  std::string name;  // in the bucket, including the prefix of the store

  std::string Where() const;  // gs://bucket/name
};

/// Absent: no such object. A missing bucket is an error.
Result<std::optional<GcsObject>> StatGcsObject(const GcsLocation& location, std::stop_token stop);

/// Removes the object, whatever its generation; OK also if it does not exist.
Status RemoveGcsObject(const GcsLocation& location, std::stop_token stop);

/// Removes the object in one request if it is of this generation; OK also if it does not exist or was
/// replaced.
Status RemoveGcsGeneration(const GcsLocation& location, const std::string& generation, std::stop_token stop);

/// Calls `visit` with every object of `bucket` whose name begins with `prefix`, in the order of names;
/// reads page by page.
Status ListGcsObjects(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                      std::string_view prefix, const std::function<Status(GcsObject)>& visit,
                      std::stop_token stop);

/// As ListGcsObjects, but calls `visit` once per page. `by_level`: objects below the next slash are
/// reported as their common prefix.
Status ListGcsPages(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                    std::string_view prefix, bool by_level, const std::function<Status(GcsPage)>& visit,
                    std::stop_token stop);

/// Copies an object on the servers, from any bucket of the same account. `generation` must exist at `to`
/// ("0": nothing exists); absent: it does not. kDataLoss: `from` has changed.
Result<std::optional<GcsObject>> RewriteGcsObject(const GcsLocation& from, const GcsObject& source,
                                                  const GcsLocation& to, const std::string& generation,
                                                  const std::string& mark, std::stop_token stop);

}  // namespace pipeline
