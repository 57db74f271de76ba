// JSON values for manifests, configurations and reports. Objects keep their keys sorted, so that equal
// values give equal text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Members are defined in json.cc: most files of the program include this one, and each would compile them.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json();                        // null
  Json(bool value);              // NOLINT(google-explicit-constructor)
  Json(double value);            // NOLINT(google-explicit-constructor)
  Json(std::int64_t value);      // NOLINT(google-explicit-constructor)
  Json(std::string value);       // NOLINT(google-explicit-constructor)
  Json(std::string_view value);  // NOLINT(google-explicit-constructor)
  Json(const char* value);       // NOLINT(google-explicit-constructor)
  Json(Array value);             // NOLINT(google-explicit-constructor)
  Json(Object value);            // NOLINT(google-explicit-constructor)
  /// Numbers above 2^63-1 never occur in our output: digests are text.
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Json(T value)
      : Json(static_cast<std::int64_t>(value)) {}
  Json(const Json&);
  Json& operator=(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  bool operator==(const Json&) const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// Each returns the fallback if the value has another kind.
  bool AsBool(bool fallback = false) const;
  std::int64_t AsInt(std::int64_t fallback = 0) const;
  /// The fallback is 0, also for a negative number.
  std::uint64_t AsCount() const { return static_cast<std::uint64_t>(std::max<std::int64_t>(AsInt(), 0)); }
  double AsDouble(double fallback = 0) const;
  std::string_view AsString(std::string_view fallback = {}) const;
  const Array& AsArray() const;    // empty for another kind
  const Object& AsObject() const;  // empty for another kind

  /// Returns the member `key`; null: no such member, or not an object.
  const Json& operator[](std::string_view key) const;
  /// For building: a null becomes an object, a missing member is added.
  Json& operator[](std::string_view key);
  bool Has(std::string_view key) const { return AsObject().find(key) != AsObject().end(); }
  /// Removes the member `key` if it exists.
  void Remove(std::string_view key);
  /// For building: a null becomes an array.
  void Append(Json element);

  /// Without white space, with sorted keys and unescaped non-ASCII: the canonical form for hashes.
  std::string Dump() const;
  /// With line ends, two spaces per level, and a final line end.
  std::string DumpPretty() const;

  /// kInvalidArgument: `text` is not JSON, an object has a key twice, or the nesting is deeper than 64.
  /// Message: "line 2, column 7: why", with columns in bytes.
  static Result<Json> Parse(std::string_view text);
  /// The same for an object. Keeps only the members `names`, and only the kind of a member that is an
  /// object or array, so that memory does not depend on the rest.
  static Result<Json> ParseMembers(std::string_view text, std::span<const std::string> names);

 private:
  void DumpTo(std::string& out, int indent, int depth) const;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace pipeline
