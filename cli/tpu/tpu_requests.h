// Bodies and answers of the API tpu.googleapis.com, version 2. Source: google-cloud-tpu on PyPI, the types of
// tpu_v2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "cli/tpu/google_api.h"
#include "cli/tpu/slice_cloud.h"

namespace pipeline {

/// "/v2/projects/P/locations/Z"; Z is `-` for all zones, which lists alone take.
std::string TpuParent(const std::string& project, const std::string& zone);

/// The body of `nodes?nodeId=`.
Json NodeBody(const SliceOrder& order);
/// The body of `queuedResources?queuedResourceId=`.
Json QueuedBody(const SliceOrder& order);

/// A node as a machine. `now`: seconds of the cloud's clock.
SliceView ViewOfNode(const Json& node, std::optional<std::int64_t> now);
/// A queued resource as a machine, without its nodes. `project`: for the remedy of its failure.
SliceView ViewOfQueued(const Json& queued, std::optional<std::int64_t> now, const std::string& project);

/// A failure that ended a request: as RefusalOf, and one without a reason is kCapacity, since another try may
/// help.
Status FinalRefusalOf(const Json& error, const SliceOrder& order);

/// A failure of the API with its reason as a SliceRefusal; one without a reason for a decision as it is.
/// `order` is named in the remedy.
Status RefusalOf(Status failure, const SliceOrder& order);

}  // namespace pipeline
