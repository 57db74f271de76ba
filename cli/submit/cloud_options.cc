#include "cli/submit/cloud_options.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::string_view kLowerOrDigit = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr int kMostOfBatch = 5'000;         // "Parallel tasks per job", https://cloud.google.com/batch/quotas
constexpr int kMostOfKubernetes = 100'000;  // of an indexed Job; pkg/apis/batch/validation of Kubernetes

/// Empty text has no character that is not allowed.
bool HasOnly(std::string_view text, std::string_view marks, bool upper = false) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLowerOrDigit.find(c) != kLowerOrDigit.npos || marks.find(c) != marks.npos ||
           (upper && kUpper.find(c) != kUpper.npos);
  });
}

Status Refuse(std::string_view word, const std::string& value, std::string_view is_none) {
  return Status(Code::kInvalidArgument, StrCat(word, " ", value, ": is ", is_none));
}

}  // namespace

Status CheckCloudOptions(std::string_view form, const CloudOptions& options, int workers) {
  const bool batch = form == "batch";
  if (!HasOnly(options.image, "._-/:@", true))
    return Refuse("--image", options.image,
                  "no name of a container image, such as HOST/PROJECT/images/pipe:0.1");
  if (!HasOnly(options.region, "-"))
    return Refuse("--region", options.region, "no region, such as us-central1");
  if (!HasOnly(options.machine_type, "-"))
    return Refuse("--machine-type", options.machine_type, "no type of machine, such as n2-standard-8");
  const std::string& account = options.service_account;
  if (batch && !account.empty() &&
      (!HasOnly(account, "._-@", true) || std::count(account.begin(), account.end(), '@') != 1))
    return Refuse("--service-account", account,
                  "no address of an account, such as NAME@PROJECT.iam.gserviceaccount.com");
  if (!batch && !HasOnly(account, ".-"))
    return Refuse("--service-account", account,
                  "no name of a Kubernetes account: lower-case letters, digits, '-' and '.'");
  const int most = batch ? kMostOfBatch : kMostOfKubernetes;
  if (workers > most)
    return Refuse("--workers", StrCat(workers),
                  StrCat("more than a job of ", batch ? "Batch" : "Kubernetes", " can have: ", most));
  return {};
}

}  // namespace pipeline
