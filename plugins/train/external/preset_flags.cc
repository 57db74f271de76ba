#include "plugins/train/external/preset_flags.h"

#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

struct Table {
  bool dashes = true;       // --NAME=VALUE; false: NAME=VALUE
  bool json_lists = false;  // false: with commas between
  std::vector<PresetFlag> flags;
};

/// Takes what is before `end` from `text`, and `end` itself.
std::string_view Take(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return taken;
}

Table Parse(std::string_view text) {
  Table table;
  while (!text.empty()) {
    std::string_view line = Take(text, "\n");
    if (line.empty() || line.starts_with("source ")) continue;
    if (line.starts_with("form ")) {
      table.dashes = line.starts_with("form --");
      table.json_lists = line.ends_with(" lists as JSON");
      continue;
    }
    PresetFlag flag;
    std::string_view words = Take(line, " = ");
    flag.fallback = line;
    flag.name = Take(words, " ");
    flag.type = Take(words, " ");
    flag.required = words == "required";
    table.flags.push_back(flag);
  }
  return table;
}

const Table& TableOf(std::string_view preset) {
  static const std::vector<std::pair<std::string_view, Table>> tables = [] {
    std::vector<std::pair<std::string_view, Table>> parsed;
    for (const PresetTable& table : PresetTables()) parsed.emplace_back(table.preset, Parse(table.text));
    return parsed;
  }();
  static const Table none;
  for (const auto& [name, table] : tables)
    if (name == preset) return table;
  return none;
}

Status WrongFlag(std::string_view flag, std::string why) {
  return Status(Code::kInvalidArgument, StrCat(flag, ": ", why));
}

/// A text as a number: a variable of the pipeline file in quotes is one.
Json Number(const Json& value) {
  if (!value.is_string()) return value;
  const Result<Json> parsed = Json::Parse(value.AsString());
  return parsed.ok() && parsed->is_number() ? *parsed : value;
}

bool IsPlaceholder(const Json& value) {
  const std::string_view text = value.AsString();
  return text.size() > 2 && text.front() == '{' && text.back() == '}';
}

/// True if the choices A|B|C have `value`.
bool IsChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty())
    if (Take(choices, "|") == value) return true;
  return false;
}

/// The value as JSON. The braces of a map are no placeholders, and those of texts outside of maps are.
std::string JsonText(const Json& value) {
  if (value.is_array()) {
    std::string all;
    for (const Json& item : value.AsArray()) all += StrCat(all.empty() ? "" : ",", JsonText(item));
    return StrCat("[", all, "]");
  }
  std::string text = value.Dump();
  if (!value.is_object()) return text;
  for (std::size_t at = 0; (at = text.find_first_of("{}", at)) != std::string::npos; at += 2)
    text.insert(at, 1, text[at]);
  return text;
}

std::string Text(const Json& value) {
  return value.is_string() ? std::string(value.AsString()) : JsonText(value);
}

/// The value as the program reads it; kInvalidArgument: it is none of the type.
Result<std::string> ValueText(const PresetFlag& flag, const Table& table, const Json& given) {
  const bool number = flag.type == "int" || flag.type == "float";
  const Json value = number ? Number(given) : given;
  const auto of_type = [&](std::string_view what) {
    return WrongFlag(flag.name, StrCat("must be ", what, ", and is ", given.Dump()));
  };
  if (flag.type == "fixed") return WrongFlag(flag.name, "the program takes no value for it from a command");
  if (IsPlaceholder(value) && (number || flag.type == "text" || flag.type == "any")) return Text(value);
  if (flag.type == "int" && !value.is_int()) return of_type("a whole number");
  if (flag.type == "float" && !value.is_number()) return of_type("a number");
  if (flag.type == "bool" && !value.is_bool()) return of_type("true or false");
  if (flag.type == "text" && !value.is_string() && !value.is_number()) return of_type("a text");
  if (flag.type == "gin" && !value.is_string()) return of_type("a text");
  if (flag.type == "gin") return StrCat("\"", value.AsString(), "\"");
  if (flag.type.starts_with("choice:") && !IsChoice(flag.type.substr(7), value.AsString()))
    return of_type(StrCat("one of ", flag.type.substr(7)));
  if (flag.type != "list" && flag.type != "any") return Text(value);
  if (flag.type == "list" && !value.is_array() && !value.is_string()) return of_type("a list");
  if (!value.is_array()) return Text(value);
  if (table.json_lists) return JsonText(value);
  std::string all;
  for (const Json& item : value.AsArray()) all += StrCat(all.empty() ? "" : ",", Text(item));
  return all;
}

}  // namespace

const std::vector<PresetFlag>& FlagsOf(std::string_view preset) { return TableOf(preset).flags; }

Result<std::string> FlagWord(std::string_view preset, std::string_view name, const Json& value) {
  const Table& table = TableOf(preset);
  std::vector<std::string_view> names;
  for (const PresetFlag& flag : table.flags) {
    names.push_back(flag.name);
    if (flag.name != name) continue;
    if (flag.type == "switch" && !value.is_bool())
      return WrongFlag(name, StrCat("must be true or false, and is ", value.Dump()));
    if (flag.type == "switch") return value.AsBool() ? StrCat("--", name) : std::string();
    ASSIGN_OR_RETURN(const std::string text, ValueText(flag, table, value));
    return StrCat(table.dashes ? "--" : "", name, "=", text);
  }
  const std::string_view meant = NearestWord(name, names);
  return WrongFlag(name, StrCat("the program has no such flag",
                                meant.empty() ? std::string() : StrCat("; did you mean ", meant, "?")));
}

}  // namespace pipeline
