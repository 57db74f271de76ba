#include "dag/pipeline_file/free_value.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace pipeline {

namespace {

template <class Number>
bool ParseAll(std::string_view text, Number& number) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Json Scalar(const YamlNode& node) {
  const std::string_view text = node.text;
  if (node.quoted) return Json(text);
  if (text == "true") return Json(true);
  if (text == "false") return Json(false);
  if (std::int64_t whole = 0; ParseAll(text, whole)) return Json(whole);
  const bool integer = text.find_first_not_of("+-0123456789") == std::string_view::npos;
  if (double number = 0; !integer && ParseAll(text, number) && std::isfinite(number)) return Json(number);
  return Json(text);
}

}  // namespace

Json FreeValue(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return Json();
    case YamlNode::Kind::kScalar: return Scalar(node);
    case YamlNode::Kind::kList: {
      Json::Array items;
      for (const YamlNode& item : node.items) items.push_back(FreeValue(item));
      return Json(std::move(items));
    }
    case YamlNode::Kind::kMap: {
      Json::Object members;
      for (const YamlEntry& entry : node.entries) members.emplace(entry.key, FreeValue(entry.value));
      return Json(std::move(members));
    }
  }
  return Json();
}

}  // namespace pipeline
