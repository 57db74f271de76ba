#include "formats/proto_message.h"

#include <algorithm>
#include <bit>

#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

namespace {

using Field = ProtoMessage::Field;
using Wire = ProtoMessage::Wire;

Field Start(std::uint32_t number, Wire wire) {
  Field field;
  field.number = number;
  field.wire = wire;
  PutVarint(field.raw, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(wire));
  field.value = field.raw.size();
  return field;
}

Field BytesField(std::uint32_t number, std::string_view value) {
  Field field = Start(number, Wire::kBytes);
  PutVarint(field.raw, value.size());
  field.value = field.raw.size();
  field.raw.append(value);
  return field;
}

}  // namespace

Result<ProtoMessage> ProtoMessage::Parse(std::string_view bytes) {
  ProtoMessage message;
  Decoder in(bytes);
  while (in.left() > 0) {
    const std::size_t begin = in.offset();
    Field field;
    const std::uint64_t tag = in.Varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire = static_cast<Wire>(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) in.Fail();
    std::size_t size = 0;  // of the value, if it is not a varint
    switch (field.wire) {
      case Wire::kVarint: field.varint = in.Varint(); break;
      case Wire::kFixed64: size = 8; break;
      case Wire::kBytes: size = static_cast<std::size_t>(in.Varint()); break;
      case Wire::kFixed32: size = 4; break;
      default: in.Fail();
    }
    const std::size_t value = in.offset();
    if (field.wire != Wire::kVarint) in.Bytes(size);
    if (!in.ok()) return Status(Code::kDataLoss, StrCat("not a protobuf message at byte ", begin));
    field.raw = bytes.substr(begin, in.offset() - begin);
    field.value = field.wire == Wire::kVarint ? 0 : value - begin;
    message.fields_.push_back(std::move(field));
  }
  return message;
}

std::string ProtoMessage::Serialize() const {
  std::string out;
  for (const Field& field : fields_) out += field.raw;
  return out;
}

const Field* ProtoMessage::Last(std::uint32_t number, Wire wire) const {
  const auto found = std::find_if(fields_.rbegin(), fields_.rend(), [&](const Field& field) {
    return field.number == number && field.wire == wire;
  });
  return found == fields_.rend() ? nullptr : &*found;
}

std::optional<std::uint64_t> ProtoMessage::Varint(std::uint32_t number) const {
  const Field* const field = Last(number, Wire::kVarint);
  return field != nullptr ? std::optional(field->varint) : std::nullopt;
}

std::optional<std::string_view> ProtoMessage::Bytes(std::uint32_t number) const {
  const Field* const field = Last(number, Wire::kBytes);
  return field != nullptr ? std::optional(field->bytes()) : std::nullopt;
}

std::optional<float> ProtoMessage::Float(std::uint32_t number) const {
  const Field* const field = Last(number, Wire::kFixed32);
  return field != nullptr ? std::optional(std::bit_cast<float>(Decoder(field->bytes()).U32())) : std::nullopt;
}

void ProtoMessage::Set(Field field) {
  const auto same = [&field](const Field& other) { return other.number == field.number; };
  auto place = std::find_if(fields_.begin(), fields_.end(), same);
  if (place != fields_.end()) {
    fields_.erase(std::remove_if(place + 1, fields_.end(), same), fields_.end());
    *place = std::move(field);
    return;
  }
  place = std::find_if(fields_.begin(), fields_.end(),
                       [&field](const Field& other) { return other.number > field.number; });
  fields_.insert(place, std::move(field));
}

void ProtoMessage::SetVarint(std::uint32_t number, std::uint64_t value) {
  Field field = Start(number, Wire::kVarint);
  PutVarint(field.raw, value);
  field.varint = value;
  Set(std::move(field));
}

void ProtoMessage::SetBytes(std::uint32_t number, std::string_view value) { Set(BytesField(number, value)); }

void ProtoMessage::SetFloat(std::uint32_t number, float value) {
  Field field = Start(number, Wire::kFixed32);
  PutU32(field.raw, std::bit_cast<std::uint32_t>(value));
  Set(std::move(field));
}

void ProtoMessage::AddBytes(std::uint32_t number, std::string_view value) {
  const auto last = std::find_if(fields_.rbegin(), fields_.rend(),
                                 [number](const Field& field) { return field.number == number; });
  if (last == fields_.rend()) return Set(BytesField(number, value));
  fields_.insert(last.base(), BytesField(number, value));
}

void ProtoMessage::Erase(std::uint32_t number) {
  std::erase_if(fields_, [number](const Field& field) { return field.number == number; });
}

}  // namespace pipeline
