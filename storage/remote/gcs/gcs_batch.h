// Removes many objects of a bucket in one request, by the batch endpoint of the JSON API
// (https://cloud.google.com/storage/docs/batch): a multipart body whose parts are requests, answered by a
// multipart body whose parts are their responses. Rules: storage/remote/gcs/gcs.md.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_object.h"

namespace pipeline {

/// The API takes no more in one request.
inline constexpr std::size_t kMostInGcsBatch = 100;

struct GcsGeneration {
  std::string name;  // in the bucket
  std::string generation;
};

/// Removes each of `objects` that is of the given generation; OK also for those that do not exist or were
/// replaced. What a batch leaves open is asked for again, one request each; a single object is no batch.
Status RemoveGcsGenerations(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                            std::span<const GcsGeneration> objects, const std::stop_token& stop);

/// The body of a batch, and its Content-Type. `urls`: of ObjectUrl, behind the address of the server.
struct GcsBatch {
  std::string content_type;
  std::string body;
};
GcsBatch EncodeGcsRemovals(std::span<const std::string> urls);

/// Returns the status of each of `requests` requests, with the words of an error; absent: the answer has none
/// for it. kUnavailable: it is no answer to such a batch, or is cut off.
Result<std::vector<std::optional<GcsError>>> ParseGcsBatch(std::string_view content_type,
                                                           std::string_view body, std::size_t requests);

}  // namespace pipeline
