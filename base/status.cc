#include "base/status.h"

#include <cerrno>
#include <system_error>

namespace pipeline {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kCancelled: return "cancelled";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kNotFound: return "not_found";
    case Code::kAlreadyExists: return "already_exists";
    case Code::kPermissionDenied: return "permission_denied";
    case Code::kFailedPrecondition: return "failed_precondition";
    case Code::kDataLoss: return "data_loss";
    case Code::kUnavailable: return "unavailable";
    case Code::kResourceExhausted: return "resource_exhausted";
    case Code::kUnimplemented: return "unimplemented";
    case Code::kInternal: return "internal";
    case Code::kPreempted: return "preempted";
  }
  return "unknown";
}

Status::Status(Code code, std::string message)
    : rep_(code == Code::kOk ? nullptr : std::make_unique<Rep>(Rep{code, std::move(message), nullptr})) {}

Status::Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status(other);
  return *this;
}

Status Status::Annotate(std::string_view where) && {
  if (rep_) rep_->message.insert(0, std::string(where) + ": ");
  return std::move(*this);
}

Status Status::Reword(std::string message) && {
  if (rep_) rep_->message = std::move(message);
  return std::move(*this);
}

Status Status::With(std::shared_ptr<const StatusDetail> detail) && {
  if (rep_) rep_->detail = std::move(detail);
  return std::move(*this);
}

Status SystemError(std::string_view what, int error_number) {
  Code code = Code::kInternal;
  switch (error_number) {
    case ENOENT: code = Code::kNotFound; break;
    case EEXIST: code = Code::kAlreadyExists; break;
    case EACCES:
    case EPERM:
    case EROFS: code = Code::kPermissionDenied; break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG: code = Code::kResourceExhausted; break;
    case EIO: code = Code::kDataLoss; break;
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ETIMEDOUT: code = Code::kUnavailable; break;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP: code = Code::kInvalidArgument; break;
    default: break;
  }
  return Status(code, std::string(what) + ": " + std::generic_category().message(error_number));
}

}  // namespace pipeline
