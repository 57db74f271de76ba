// The outcome of an operation that can fail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pipeline {

/// Decides the next step of a caller; the words are in the message.
enum class Code : std::uint8_t {
  kOk,
  kCancelled,        // a stop was requested: the work itself did not fail
  kInvalidArgument,  // the pipeline file or the command is wrong
  kNotFound,         // an answer, not a failure
  kAlreadyExists,    // a create-only write found an object
  kPermissionDenied,
  kFailedPrecondition,  // the present state forbids it (another recipe, a changed version)
  kDataLoss,            // bytes are damaged; a retry gives the same
  kUnavailable,         // a retry may succeed
  kResourceExhausted,   // disk or memory is full
  kUnimplemented,
  kInternal,   // a bug in this program
  kPreempted,  // this machine is about to be taken; the same command goes on, here or elsewhere
};

/// Name of `code` in logs and machine-readable output, e.g. "data_loss".
std::string_view CodeName(Code code);

/// A fact about a failure for callers that need more than the code. Each fact is a struct derived from
/// this, in the room that reports it. Messages are for people; code never parses them.
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

  /// Puts the context in front of the message: "reading shard 7: <message>". OK stays OK.
  Status Annotate(std::string_view where) &&;

  /// Replaces the message; keeps code and detail. OK stays OK.
  Status Reword(std::string message) &&;

  /// Sets the detail; replaces an earlier one. OK stays OK.
  Status With(std::shared_ptr<const StatusDetail> detail) &&;
  /// Returns the detail if it is a T, else null. Valid as long as this status or a copy of it lives.
  template <class T>
  const T* Detail() const noexcept {
    return rep_ ? dynamic_cast<const T*>(rep_->detail.get()) : nullptr;
  }

 private:
  struct Rep {
    Code code;
    std::string message;
    std::shared_ptr<const StatusDetail> detail;  // null: the code is enough
  };
  std::unique_ptr<Rep> rep_;  // null: OK, so that success allocates nothing
};

/// Returns the status of a failed system call: "<what>: <strerror>", with a code that fits `error_number`.
Status SystemError(std::string_view what, int error_number);

}  // namespace pipeline
