#include "formats/proto_message.h"

#include <algorithm>
#include <cstring>

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

std::optional<std::uint64_t> ProtoMessage::Varint(std::uint32_t number) const {
  std::optional<std::uint64_t> last;
  for (const Field& field : fields_)
    if (field.number == number && field.wire == Wire::kVarint) last = field.varint;
  return last;
}

std::optional<std::string_view> ProtoMessage::Bytes(std::uint32_t number) const {
  std::optional<std::string_view> last;
  for (const Field& field : fields_)
    if (field.number == number && field.wire == Wire::kBytes) last = field.bytes();
  return last;
}

std::optional<float> ProtoMessage::Float(std::uint32_t number) const {
  std::optional<float> last;
  for (const Field& field : fields_) {
    if (field.number != number || field.wire != Wire::kFixed32) continue;
    const std::uint32_t bits = Decoder(field.bytes()).U32();
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    last = value;
  }
  return last;
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
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  PutU32(field.raw, bits);
  Set(std::move(field));
}

void ProtoMessage::AddBytes(std::uint32_t number, std::string_view value) {
  auto last = fields_.end();
  for (auto field = fields_.begin(); field != fields_.end(); ++field)
    if (field->number == number) last = field;
  if (last == fields_.end()) return Set(BytesField(number, value));
  fields_.insert(last + 1, BytesField(number, value));
}

void ProtoMessage::Erase(std::uint32_t number) {
  fields_.erase(std::remove_if(fields_.begin(), fields_.end(),
                               [number](const Field& field) { return field.number == number; }),
                fields_.end());
}

}  // namespace pipeline
