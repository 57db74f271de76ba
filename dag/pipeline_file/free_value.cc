#include "dag/pipeline_file/free_value.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "base/words.h"

namespace pipeline {

namespace {

Json Scalar(const YamlNode& node) {
  const std::string_view text = node.text;
  if (node.quoted) return Json(text);
  if (text == "true") return Json(true);
  if (text == "false") return Json(false);
  const bool has_plus = text.size() > 1 && text.front() == '+' && text[1] != '-';
  const std::string_view digits = text.substr(has_plus ? 1 : 0);
  if (const auto whole = ParseNumber<std::int64_t>(digits)) return Json(*whole);
  const bool integer = text.find_first_not_of("+-0123456789") == std::string_view::npos;
  if (const auto number = ParseNumber<double>(digits); !integer && number && std::isfinite(*number))
    return Json(*number);
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
