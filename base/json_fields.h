// Strict reading of JSON objects that we wrote: a member that is missing or of another kind is an
// error that names it. Members nobody asks for are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/json.h"

namespace pipeline {

/// Reads members of one object. The first failure sticks in `status`, which several readers may share;
/// what is read after it is empty.
class JsonFields {
 public:
  /// `where` is put in front of a member's name in messages: "shards[3]." Both outlive the reader.
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
