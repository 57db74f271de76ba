#include "dag/location/names_part.h"

#include <cstddef>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::string_view kFirstLine = "# pipe names v1\n";
constexpr std::size_t kPartBytes = std::size_t{16} << 20;  // a part is closed once it is larger

std::string LastLine(std::size_t count, std::string_view before) {
  return StrCat("# ", count, " names, ", DigestOf(before).ToHex(), "\n");
}

}  // namespace

std::optional<std::vector<std::string>> ParseNamesPart(std::string_view text) {
  if (!text.starts_with(kFirstLine) || !text.ends_with('\n')) return std::nullopt;
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;  // 0: there is only the first line
  std::vector<std::string> names;
  for (std::size_t at = kFirstLine.size(); at < last;) {
    const std::size_t end = text.find('\n', at);
    const Result<Json> name = Json::Parse(text.substr(at, end - at));
    if (!name.ok() || !name->is_string()) return std::nullopt;
    names.emplace_back(name->AsString());
    at = end + 1;
  }
  if (text.substr(last) != LastLine(names.size(), text.substr(0, last))) return std::nullopt;
  return names;
}

std::vector<NamesPart> NamesPartsOf(const NameSet& names) {
  std::vector<NamesPart> parts;
  for (auto name = names.begin(); name != names.end();) {
    std::string text(kFirstLine);
    std::size_t count = 0;
    for (; name != names.end() && text.size() < kPartBytes; ++name, ++count) {
      AppendJsonString(text, *name);
      text += '\n';
    }
    text += LastLine(count, text);
    std::string object = StrCat(kNamesPrefix, DigestOf(text).ToHex());
    parts.push_back({std::move(object), std::move(text)});
  }
  return parts;
}

}  // namespace pipeline
