// A Protocol Buffers message without a schema: its fields in their original order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Unchanged fields are written byte for byte as they were read.
class ProtoMessage {
 public:
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  struct Field {
    std::uint32_t number = 0;
    Wire wire = Wire::kVarint;
    std::string raw;           // tag and value, as in the file
    std::size_t value = 0;     // start of the value in `raw`, after its length; unused for kVarint
    std::uint64_t varint = 0;  // value of a kVarint
    std::string_view bytes() const { return std::string_view(raw).substr(value); }  // value of other kinds
  };

  /// kDataLoss names the offset where `bytes` are not a message.
  static Result<ProtoMessage> Parse(std::string_view bytes);
  std::string Serialize() const;

  const std::vector<Field>& fields() const { return fields_; }

  /// The last field with this number and kind; absent: none.
  std::optional<std::uint64_t> Varint(std::uint32_t number) const;
  std::optional<std::string_view> Bytes(std::uint32_t number) const;
  std::optional<float> Float(std::uint32_t number) const;

  /// Replaces the first field with this number and removes its repetitions. If there is none, inserts the
  /// field in front of the first field with a larger number.
  void SetVarint(std::uint32_t number, std::uint64_t value);
  void SetBytes(std::uint32_t number, std::string_view value);
  void SetFloat(std::uint32_t number, float value);
  /// Inserts another field after the last with this number.
  void AddBytes(std::uint32_t number, std::string_view value);
  void Erase(std::uint32_t number);

 private:
  /// Null: there is none.
  const Field* Last(std::uint32_t number, Wire wire) const;
  void Set(Field field);
  std::vector<Field> fields_;
};

}  // namespace pipeline
