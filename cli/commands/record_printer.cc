#include "cli/commands/record_printer.h"

#include <utility>

#include "base/base64.h"
#include "base/utf8.h"

namespace pipeline {

namespace {

struct ListToJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(const TfBytesList& values) const {
    if (values.size() == 1) return TextOrBase64(values.front());
    Json::Array array;
    for (const std::string_view value : values) array.push_back(TextOrBase64(value));
    return array;
  }
  Json operator()(const TfFloatList& values) const {
    Json::Array array;
    for (const float value : values) array.emplace_back(static_cast<double>(value));
    return array;
  }
  Json operator()(const TfInt64List& values) const { return Json::Array(values.begin(), values.end()); }
};

}  // namespace

void RecordPrinter::Line(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out_.Write(text.substr(0, end));
    out_.Write("\\n");
    text.remove_prefix(end + 1);
  }
  out_.Write(text);
  out_.Write("\n");
  ++printed_;
}

void RecordPrinter::Object(const Json& record) {
  out_.Write(record.Dump());
  out_.Write("\n");
  ++printed_;
}

Json TextOrBase64(std::string_view bytes) {
  if (IsUtf8(bytes)) return bytes;
  Json json;
  json["base64"] = ToBase64(bytes);
  return json;
}

Json ToJson(const TfExample& example) {
  Json json = Json::Object{};
  for (const auto& [name, feature] : example) json[name] = std::visit(ListToJson{}, feature);
  return json;
}

}  // namespace pipeline
