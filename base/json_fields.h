// Strict reading of JSON objects that we wrote: a missing member, or one of another kind, is an error that
// names it. Other members are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/json.h"

namespace pipeline {

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

 private:
  const Json& Member(std::string_view key);
  void Fail(std::string_view key, std::string_view what);

  const Json& object_;
  std::string_view where_;
  Status& status_;
};

/// 8 lower-case hexadecimal digits.
std::string Hex32(std::uint32_t number);

}  // namespace pipeline
