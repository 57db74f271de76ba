#include "base/json_fields.h"

#include <algorithm>
#include <optional>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

JsonFields::JsonFields(const Json& object, std::string_view where, Status& status)
    : object_(object), where_(where), status_(status) {
  if (!object.is_object()) Fail("", "not an object");
}

void JsonFields::Fail(std::string_view key, std::string_view what) {
  if (!status_.ok()) return;
  std::string name = StrCat(where_, key);
  if (!name.empty() && name.back() == '.') name.pop_back();
  status_ = Status(Code::kDataLoss, StrCat(name, ": ", what));
}

const Json& JsonFields::Member(std::string_view key) {
  const auto found = object_.AsObject().find(key);
  if (found != object_.AsObject().end()) return found->second;
  Fail(key, "missing");
  static const Json kNull;
  return kNull;
}

std::string JsonFields::Text(std::string_view key) {
  const Json& value = Member(key);
  if (!value.is_string()) Fail(key, "not a string");
  return std::string(value.AsString());
}

std::uint64_t JsonFields::Number(std::string_view key) {
  const Json& value = Member(key);
  if (value.is_int() && value.AsInt() >= 0) return static_cast<std::uint64_t>(value.AsInt());
  Fail(key, "not a whole number");
  return 0;
}

std::uint32_t JsonFields::Number32(std::string_view key) {
  const std::uint64_t number = Number(key);
  if (number <= UINT32_MAX) return static_cast<std::uint32_t>(number);
  Fail(key, "too large");
  return 0;
}

Digest JsonFields::Hex(std::string_view key) {
  const std::optional<Digest> digest = Digest::FromHex(Member(key).AsString());
  if (!digest) Fail(key, "not 32 hexadecimal digits");
  return digest.value_or(Digest{});
}

std::uint32_t JsonFields::Hex32(std::string_view key) {
  const std::string_view text = Member(key).AsString();
  const auto number = text.size() == 8 ? ParseNumber<std::uint32_t>(text, 16) : std::nullopt;
  if (!number) Fail(key, "not 8 hexadecimal digits");
  return number.value_or(0);
}

std::string JsonFields::Inside(std::string_view key) const { return StrCat(where_, key, '.'); }

std::string JsonFields::Inside(std::string_view key, std::size_t number) const {
  return StrCat(where_, key, '[', number, "].");
}

void JsonFields::Take(std::string_view key, std::vector<std::string>& texts) {
  for (const Json& text : Array(key)) {
    if (!text.is_string()) return Fail(key, "not all are strings");
    texts.emplace_back(text.AsString());
  }
}

void JsonFields::Take(std::string_view key, std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const Json& pair : Array(key)) {
    const Json::Array& both = pair.AsArray();
    if (both.size() != 2 || !both[0].is_string() || !both[1].is_string())
      return Fail(key, "not pairs of texts");
    pairs.emplace_back(both[0].AsString(), both[1].AsString());
  }
}

void JsonFields::TakeLoosely(const Json& json, std::uint32_t& value) {
  value = static_cast<std::uint32_t>(std::min<std::uint64_t>(json.AsCount(), UINT32_MAX));
}

void JsonFields::TakeLoosely(const Json& json, double& seconds) {
  seconds = std::clamp(json.AsDouble(), 0.0, 1e12);
}

void JsonFields::TakeLoosely(const Json& json, std::chrono::milliseconds& value) {
  value = std::chrono::milliseconds(json.AsInt());
}

void JsonFields::TakeLoosely(const Json& json, Digest& value) {
  value = Digest::FromHex(json.AsString()).value_or(Digest());
}

void JsonFields::TakeLoosely(const Json& json, Json& value) {
  if (json.is_object()) value = json;
}

JsonWriter& JsonWriter::RequiredHex32(std::string_view key, std::uint32_t value) {
  object_[key] = pipeline::Hex32(value);
  return *this;
}

Json JsonWriter::ValueOf(double seconds) {
  return static_cast<double>(static_cast<std::int64_t>(seconds * 1e6 + 0.5)) / 1e6;
}

const Json::Array& JsonFields::Array(std::string_view key) {
  const Json& value = Member(key);
  if (!value.is_array()) Fail(key, "not an array");
  return value.AsArray();
}

const Json& JsonFields::Object(std::string_view key) {
  const Json& value = Member(key);
  if (!value.is_object()) Fail(key, "not an object");
  return value;
}

std::string Hex32(std::uint32_t number) {
  std::string hex;
  for (int shift = 28; shift >= 0; shift -= 4) hex.push_back("0123456789abcdef"[(number >> shift) & 15]);
  return hex;
}

}  // namespace pipeline
