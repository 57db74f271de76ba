#include "stages/export/jsonl/jsonl.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr bool NeedsEscape(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\';
}

constexpr std::array<bool, 256> kEscapes = [] {
  std::array<bool, 256> escapes{};
  for (int byte = 0; byte < 256; ++byte)
    escapes[static_cast<std::size_t>(byte)] = NeedsEscape(static_cast<char>(byte));
  return escapes;
}();

void AppendEscape(std::string& out, char byte) {
  constexpr std::string_view kNamed = "\b\f\n\r\t\"\\", kLetters = "bfnrt\"\\", kHex = "0123456789abcdef";
  out.push_back('\\');
  if (const std::size_t named = kNamed.find(byte); named != std::string_view::npos) {
    out.push_back(kLetters[named]);
    return;
  }
  const auto code = static_cast<unsigned char>(byte);
  out.append("u00").push_back(kHex[code >> 4]);
  out.push_back(kHex[code & 15]);
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!kEscapes[static_cast<unsigned char>(text[at])]) continue;
    out.append(text.substr(begin, at - begin));
    AppendEscape(out, text[at]);
    begin = at + 1;
  }
  out.append(text.substr(begin));
}

JsonlRow::JsonlRow(const std::vector<std::string>& members) : after_("\"}\n") {
  for (const std::string& member : members) {
    std::string before = before_.empty() ? "{\"" : "\",\"";
    AppendJsonText(before, member);
    before_.push_back(std::move(before) + "\":\"");
  }
}

std::string JsonlShardName(std::string_view file, std::uint32_t number, std::uint32_t count) {
  if (count == 1) return StrCat(file, ".json");
  return StrCat(file, "-", ZeroPadded(number, 5), "-of-", ZeroPadded(count, 5), ".json");
}

Result<std::vector<std::string>> ParseJsonlRow(std::string_view line,
                                               const std::vector<std::string>& members) {
  const auto bad = [](std::string why) { return Status(Code::kDataLoss, std::move(why)); };
  const Result<Json> row = Json::Parse(line);
  if (!row.ok()) return bad(StrCat("no JSON: ", row.status().message()));
  if (!row->is_object()) return bad("no JSON object");
  std::vector<std::string> texts;
  for (const std::string& member : members) {
    const Json& value = (*row)[member];
    if (!value.is_string()) return bad(StrCat("its member '", member, "' is missing or no string"));
    texts.emplace_back(value.AsString());
  }
  for (const auto& [name, value] : row->AsObject())
    if (std::find(members.begin(), members.end(), name) == members.end())
      return bad(StrCat("has a member '", name, "' that does not belong there"));
  return texts;
}

}  // namespace pipeline
