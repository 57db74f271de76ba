// Slices of TPUs of the API tpu.googleapis.com, version 2: nodes and queued resources.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/tpu/google_api.h"
#include "cli/tpu/slice_cloud.h"
#include "storage/remote/http/environment.h"

namespace pipeline {

/// The cloud behind `api`.
std::unique_ptr<SliceCloud> NewTpuApi(std::unique_ptr<GoogleApi> api);

/// Google's, or the one that CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU names, as for gcloud. kNotFound: this
/// machine has no credentials.
Result<std::unique_ptr<SliceCloud>> OpenTpuApi(const EnvironmentLookup& environment);

}  // namespace pipeline
