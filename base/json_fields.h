// Objects of JSON that we write and read. Strict reading: a missing member, or one of another kind, is an
// error that names it. Other members are ignored.
//
// A type lists its members once, in a template that JsonWriter and JsonFields both run:
//
//     template <class Fields, Of<Entry> T>
//     void ListFields(Fields& fields, T& entry) {
//       fields.Required("unit", entry.unit).Loose("bytes", entry.bytes);
//     }
//
// Required is always written and is read strictly. Optional is left out if its value is empty or zero, and is
// read strictly if it is there. Loose is left out likewise; a member of another kind reads as empty or zero.
// Written is always written and reads like Loose.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/json.h"

namespace pipeline {

/// `T` is `Type`, constant where it is written.
template <class T, class Type>
concept Of = std::same_as<std::remove_const_t<T>, Type>;

/// A value of two parts, which is an array of two.
template <class T>
concept Pair = requires(T& value) {
  value.first;
  value.second;
};

/// Reads members of one object. `status` keeps the first failure, and several readers may share it. A
/// member that fails gives a meaningless value.
class JsonFields {
 public:
  /// Messages put `where` in front of the name of a member: "shards[3]." `object` and `where` must outlive
  /// the reader.
  JsonFields(const Json& object, std::string_view where, Status& status);

  std::string Text(std::string_view key);
  /// Not negative.
  std::uint64_t Number(std::string_view key);
  /// Not negative and below 2^32.
  std::uint32_t Number32(std::string_view key);
  /// 32 hexadecimal digits; all zero is allowed.
  Digest Hex(std::string_view key);
  /// 8 hexadecimal digits.
  std::uint32_t Hex32(std::string_view key);
  const Json::Array& Array(std::string_view key);
  const Json& Object(std::string_view key);

  /// Reads a value whose fields are all Loose or Written.
  template <class T>
  static T ReadLoosely(const Json& json) {
    T value{};
    TakeLoosely(json, value);
    return value;
  }

  /// Returns whether the object has the member. An object that is written has none.
  bool Has(std::string_view key) const { return object_.Has(key); }

  /// Keeps this failure if it is the first one.
  void Fail(std::string_view key, std::string_view what);

  // The parts of a list of fields.
  JsonFields& Required(std::string_view key, auto& value) { return Take(key, value), *this; }
  JsonFields& Optional(std::string_view key, auto& value) { return Has(key) ? Required(key, value) : *this; }
  JsonFields& Loose(std::string_view key, auto& value) { return TakeLoosely(object_[key], value), *this; }
  JsonFields& Written(std::string_view key, auto& value) { return Loose(key, value); }
  /// Required, as Hex32.
  JsonFields& RequiredHex32(std::string_view key, std::uint32_t& value) { return value = Hex32(key), *this; }

 private:
  const Json& Member(std::string_view key);
  std::string Inside(std::string_view key) const;                      // "shards."
  std::string Inside(std::string_view key, std::size_t number) const;  // "shards[3]."

  void Take(std::string_view key, std::string& value) { value = Text(key); }
  void Take(std::string_view key, std::uint64_t& value) { value = Number(key); }
  void Take(std::string_view key, std::uint32_t& value) { value = Number32(key); }
  void Take(std::string_view key, int& value) { value = static_cast<int>(Number32(key) & 0x7fffffff); }
  void Take(std::string_view key, Digest& value) { value = Hex(key); }
  void Take(std::string_view key, Json& value) { value = Object(key); }
  void Take(std::string_view key, std::vector<std::string>& texts);
  void Take(std::string_view key, std::vector<std::pair<std::string, std::string>>& pairs);
  template <class T>
  void Take(std::string_view key, std::optional<T>& value) {
    Take(key, value.emplace());
  }
  template <class T>
  void Take(std::string_view key, std::vector<T>& list) {
    const Json::Array& array = Array(key);
    list.reserve(array.size());
    for (const Json& element : array) {
      const std::string where = Inside(key, list.size());
      JsonFields parts(element, where, status_);
      ListFields(parts, list.emplace_back());
    }
  }
  template <class T, class Less>
  void Take(std::string_view key, std::map<std::string, T, Less>& map) {
    const std::string where = Inside(key);
    JsonFields parts(Member(key), where, status_);
    for (const auto& [name, value] : object_[key].AsObject()) parts.Take(name, map[name]);
  }
  template <class T>
  void Take(std::string_view key, T& value) {
    const std::string where = Inside(key);
    JsonFields parts(Member(key), where, status_);
    ListFields(parts, value);
  }

  static void TakeLoosely(const Json& json, bool& value) { value = json.AsBool(); }
  static void TakeLoosely(const Json& json, std::string& value) { value = json.AsString(); }
  static void TakeLoosely(const Json& json, std::int64_t& value) { value = json.AsInt(); }
  static void TakeLoosely(const Json& json, std::uint64_t& value) { value = json.AsCount(); }
  static void TakeLoosely(const Json& json, std::uint32_t& value);
  /// A time or a sum of times; never negative, so that nothing is drawn outside of a chart.
  static void TakeLoosely(const Json& json, double& seconds);
  static void TakeLoosely(const Json& json, std::chrono::milliseconds& value);
  static void TakeLoosely(const Json& json, Digest& value);
  static void TakeLoosely(const Json& json, Json& value);
  template <class T>
  static void TakeLoosely(const Json& json, std::optional<T>& value) {
    if (!json.is_null()) TakeLoosely(json, value.emplace());
  }
  /// The pair is an array. Lists and maps leave out an array of another length.
  template <Pair T>
  static void TakeLoosely(const Json& json, T& pair) {
    TakeLoosely(json.AsArray()[0], pair.first);
    TakeLoosely(json.AsArray()[1], pair.second);
  }
  template <class T>
  static bool Fits(const Json& json) {
    return !Pair<T> || json.AsArray().size() == 2;
  }
  template <class T>
  static void TakeLoosely(const Json& json, std::vector<T>& list) {
    for (const Json& element : json.AsArray())
      if (Fits<T>(element)) TakeLoosely(element, list.emplace_back());
  }
  template <class T, class Less>
  static void TakeLoosely(const Json& json, std::map<std::string, T, Less>& map) {
    for (const auto& [name, value] : json.AsObject())
      if (Fits<T>(value)) TakeLoosely(value, map[name]);
  }
  template <class T>
  static void TakeLoosely(const Json& json, T& value) {
    Status status;
    JsonFields parts(json, "", status);
    ListFields(parts, value);
  }

  const Json& object_;
  std::string_view where_;
  Status& status_;
};

/// Writes an object.
class JsonWriter {
 public:
  JsonWriter& Required(std::string_view key, const auto& value) {
    return object_[key] = ValueOf(value), *this;
  }
  JsonWriter& Optional(std::string_view key, const auto& value) {
    return IsEmpty(value) ? *this : Required(key, value);
  }
  JsonWriter& Loose(std::string_view key, const auto& value) { return Optional(key, value); }
  JsonWriter& Written(std::string_view key, const auto& value) { return Required(key, value); }
  /// In all its digits.
  JsonWriter& Written(std::string_view key, double value) { return object_[key] = value, *this; }
  JsonWriter& RequiredHex32(std::string_view key, std::uint32_t value);

  bool Has(std::string_view) const { return false; }
  Json Finish() { return std::move(object_); }

  static Json ValueOf(const std::string& value) { return value; }
  static Json ValueOf(const Json& value) { return value; }
  static Json ValueOf(const Digest& value) { return value.ToHex(); }
  static Json ValueOf(std::chrono::milliseconds value) { return value.count(); }
  static Json ValueOf(const std::integral auto& value) { return value; }
  /// Microseconds are enough, and keep the lines short.
  static Json ValueOf(double seconds);
  static Json ValueOf(const Pair auto& pair) {
    return Json::Array{ValueOf(pair.first), ValueOf(pair.second)};
  }
  template <class T>
  static Json ValueOf(const std::optional<T>& value) {
    return ValueOf(*value);
  }
  template <class T>
  static Json ValueOf(const std::vector<T>& list) {
    Json::Array array;
    array.reserve(list.size());
    for (const T& element : list) array.push_back(ValueOf(element));
    return array;
  }
  template <class T, class Less>
  static Json ValueOf(const std::map<std::string, T, Less>& map) {
    Json::Object object;
    for (const auto& [name, value] : map) object.emplace_hint(object.end(), name, ValueOf(value));
    return object;
  }
  static Json ValueOf(const auto& value) {
    JsonWriter object;
    ListFields(object, value);
    return object.Finish();
  }

 private:
  template <class T>
  static bool IsEmpty(const T& value) {
    if constexpr (std::is_floating_point_v<T>)
      return !(value > T());
    else if constexpr (requires { value.empty(); })
      return value.empty();
    else
      return value == T();
  }

  Json object_ = Json::Object{};
};

/// 8 lower-case hexadecimal digits.
std::string Hex32(std::uint32_t number);

}  // namespace pipeline
