#include "dag/package/submission.h"

#include <utility>

#include "base/json.h"
#include "base/random_name.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxSubmissionBytes = 1 << 20;

}  // namespace

Result<std::optional<Submission>> ReadSubmission(Store& package, const std::stop_token& stop) {
  // The version comes first: an object that is replaced meanwhile is not replaced by us.
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, package.Stat(kSubmissionName));
  if (!there) return std::nullopt;
  const Result<std::string> text = ReadObject(package, kSubmissionName, kMaxSubmissionBytes, stop);
  if (!text.ok() && text.status().code() == Code::kNotFound) return std::nullopt;
  if (!text.ok()) return text.status();
  Result<Submission> submission = ParseVersioned<Submission>(*text);
  if (!submission.ok()) return std::move(submission).status().Annotate(kSubmissionName);
  submission->version = there->version;
  return std::move(*submission);
}

Status WriteSubmission(Store& package, Submission& submission, const std::stop_token& stop) {
  const Condition condition =
      submission.version.empty() ? Condition::CreateOnly() : Condition::Replace(submission.version);
  const Result<ObjectInfo> written =
      WriteObject(package, kSubmissionName, EncodeVersioned(submission), condition, stop);
  if (written.status().code() == Code::kAlreadyExists)
    return Status(Code::kFailedPrecondition, std::string(written.status().message()));
  if (!written.ok()) return written.status();
  submission.version = written->version;
  return {};
}

Status RemoveSubmission(Store& package, const Submission& submission) {
  if (submission.version.empty()) return {};
  return RemoveKnown(package, {std::string(kSubmissionName), 0, submission.version, {}});
}

Status CheckRights(Store& package, std::string_view location, const std::stop_token& stop) {
  const std::string object = StrCat("rights/", RandomName(16));
  Status may = WriteObject(package, object, "create", Condition::CreateOnly(), stop).status();
  if (may.ok()) may = WriteObject(package, object, "replace", Condition::ReplaceAny(), stop).status();
  const Status removed = package.Remove(object);
  if (may.ok()) may = removed;
  if (may.code() != Code::kPermissionDenied) return may;
  return Status(
      Code::kPermissionDenied,
      StrCat(location, ": workers create, replace and remove objects here, and this account may not ",
             "(on Google Cloud Storage: storage.objects.create, storage.objects.delete, as ",
             "roles/storage.objectUser has them): ", may.message()));
}

}  // namespace pipeline
