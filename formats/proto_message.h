// A Protocol Buffers message without its schema: fields in the order in which they came.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Fields that nobody changes are written as they were read, byte for byte.
class ProtoMessage {
 public:
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  struct Field {
    std::uint32_t number = 0;
    Wire wire = Wire::kVarint;
    std::string raw;           // tag and value, as in the file
    std::size_t value = 0;     // where in `raw` the value begins, behind the length of bytes
    std::uint64_t varint = 0;  // of kVarint
    std::string_view bytes() const { return std::string_view(raw).substr(value); }  // of the other kinds
  };

  /// kDataLoss with the offset where `bytes` are no message.
  static Result<ProtoMessage> Parse(std::string_view bytes);
  std::string Serialize() const;

  const std::vector<Field>& fields() const { return fields_; }

  /// The last field of that number and kind; absent where there is none.
  std::optional<std::uint64_t> Varint(std::uint32_t number) const;
  std::optional<std::string_view> Bytes(std::uint32_t number) const;
  std::optional<float> Float(std::uint32_t number) const;

  /// Puts one field in the place of the first of that number, and takes the others away. Where there is
  /// none it goes in front of the first field of a greater number.
  void SetVarint(std::uint32_t number, std::uint64_t value);
  void SetBytes(std::uint32_t number, std::string_view value);
  void SetFloat(std::uint32_t number, float value);
  /// One more field behind the last of that number.
  void AddBytes(std::uint32_t number, std::string_view value);
  void Erase(std::uint32_t number);

 private:
  void Set(Field field);
  std::vector<Field> fields_;
};

}  // namespace pipeline
