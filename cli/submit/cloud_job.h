// Jobs that start the workers of a run as containers, which a person gives to their services: of Google Cloud
// Batch to gcloud, of Kubernetes to kubectl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/submit/engine.h"

namespace pipeline {

/// The directory that a worker of these jobs has for itself, for --scratch.
inline constexpr std::string_view kScratchInContainer = "/scratch";
/// The program in an image of cli/submit/image.
inline constexpr std::string_view kProgramInContainer = "/usr/local/bin/pipe";

struct CloudOptions {
  std::string image = {};            // of a container that has argv[0]
  std::string service_account = {};  // Batch: its address; Kubernetes: its name; empty: the default one
  std::string region = {};           // Batch: us-central1
  std::string machine_type = {};     // Batch: n2-standard-8; empty: one that has the cores and the memory
  std::uint64_t scratch = 0;         // bytes of disk of each worker
  bool spot = true;                  // machines that Google may take back at any time
};

/// `form`: batch or k8s. OK: its service takes these names and as many workers. kInvalidArgument: it would
/// refuse the job, or keep it waiting for ever. Asks no server.
Status CheckCloudOptions(std::string_view form, const CloudOptions& options, int workers);

/// JSON for `gcloud batch jobs submit --config`. A worker that ended with 75, or whose machine was taken
/// back, starts again: as often as Batch allows, which is 10 times.
std::string BatchJob(const WorkerSet& set, const CloudOptions& options);

/// YAML for `kubectl apply`: a Job of Kubernetes 1.29 or later. A worker starts again as in Engine; the end
/// of its machine does not count.
std::string KubernetesJob(const WorkerSet& set, const CloudOptions& options);

}  // namespace pipeline
