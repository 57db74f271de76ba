// A value, or the reason why there is none.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace pipeline {

template <class T>
class Result;

/// A value that becomes a T without a cast: a pointer to a derived class, or the value of an optional T.
template <class U, class T>
concept BecomesValue = std::is_class_v<T> && !std::same_as<std::remove_cvref_t<U>, Result<T>> &&
                       !std::convertible_to<U, Status> && std::convertible_to<U, T>;

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    CHECK(!status_.ok(), "an OK result needs a value");
  }
  template <BecomesValue<T> U>
  Result(U&& value)  // NOLINT(google-explicit-constructor)
      : value_(std::in_place, std::forward<U>(value)) {}
  template <BecomesValue<T> U>
  Result(Result<U>&& other)  // NOLINT(google-explicit-constructor)
      : status_(std::move(other).status()) {
    if (other.ok()) value_.emplace(std::move(other).value());
  }

  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }

  /// Call it only if ok(): otherwise the program ends.
  T& value() & {
    CHECK(ok(), status_.message());
    return *value_;
  }
  const T& value() const& {
    CHECK(ok(), status_.message());
    return *value_;
  }
  T value() && {
    CHECK(ok(), status_.message());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace pipeline

#define PIPELINE_CONCAT_INNER_(a, b) a##b
#define PIPELINE_CONCAT_(a, b) PIPELINE_CONCAT_INNER_(a, b)

/// Returns the status of `expr` from the function unless it is OK.
#define RETURN_IF_ERROR(expr)                                                                    \
  do {                                                                                           \
    if (::pipeline::Status status_of_expr = (expr); !status_of_expr.ok()) return status_of_expr; \
  } while (false)

/// Evaluates a Result: returns its status from the function, or moves its value into `lhs`. Several
/// statements: not for the body of an `if` without braces.
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_(PIPELINE_CONCAT_(result_, __COUNTER__), lhs, expr)
#define ASSIGN_OR_RETURN_(result, lhs, expr)           \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = std::move(result).value()
