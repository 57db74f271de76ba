// The outcome of an operation that can fail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pipeline {

/// Decides what a caller does next; the wording is in the message.
enum class Code : std::uint8_t {
  kOk,
  kCancelled,        // the stop token was set: not a failure of the work
  kInvalidArgument,  // the pipeline file or the command is wrong
  kNotFound,         // an answer, not an accident
  kAlreadyExists,    // a create-only write met an object
  kPermissionDenied,
  kFailedPrecondition,  // the state of the world forbids it (another recipe, a changed version)
  kDataLoss,            // bytes are damaged; trying again gives the same
  kUnavailable,         // may pass when tried again
  kResourceExhausted,   // disk or memory is full
  kUnimplemented,
  kInternal,  // a bug of ours
};

/// The name of `code` as logs and machine-readable output write it, e.g. "data_loss".
std::string_view CodeName(Code code);

/// A fact about a failure that a caller acts on, where the code alone does not tell it. Each fact is a struct
/// of its own, in the room that states it, derived from this. The message is for people and is never read
/// back.
struct StatusDetail {
  StatusDetail() = default;
  StatusDetail(const StatusDetail&) = default;
  StatusDetail& operator=(const StatusDetail&) = default;
  virtual ~StatusDetail() = default;
};

/// OK, or a code with a message for the person who must act: "where: what: why; what to do".
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const noexcept { return rep_ == nullptr; }
  Code code() const noexcept { return rep_ ? rep_->code : Code::kOk; }
  std::string_view message() const noexcept {
    return rep_ ? std::string_view(rep_->message) : std::string_view();
  }

  /// Prefixes the message with where it happened: "reading shard 7: <message>". OK stays OK.
  Status Annotate(std::string_view where) &&;

  /// The same code and detail in other words. OK stays OK.
  Status Reword(std::string message) &&;

  /// Carries `detail` from here on, in place of one that it had. OK stays OK.
  Status With(std::shared_ptr<const StatusDetail> detail) &&;
  /// The detail, where it is a T; else null. Lives as long as this status or a copy of it.
  template <class T>
  const T* Detail() const noexcept {
    return rep_ ? dynamic_cast<const T*>(rep_->detail.get()) : nullptr;
  }

 private:
  struct Rep {
    Code code;
    std::string message;
    std::shared_ptr<const StatusDetail> detail;  // null where the code says all
  };
  std::unique_ptr<Rep> rep_;  // null is OK: success allocates nothing
};

/// The status for a failed system call: "<what>: <strerror>" with a code that fits `error_number`.
Status SystemError(std::string_view what, int error_number);

}  // namespace pipeline
