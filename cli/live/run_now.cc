#include "cli/live/run_now.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/str.h"
#include "dag/books/log_file.h"

namespace pipeline {

namespace {

std::string PathIn(const std::string& directory) { return StrCat(directory, "/now.json"); }

double SecondsOf(const Json& json) { return std::clamp(json.AsDouble(), 0.0, 1e12); }

Json ToJson(const RunNow::Unit& unit) {
  Json json;
  json["unit"] = unit.unit;
  json["since"] = unit.since;
  json["records"] = unit.records;
  json["text"] = unit.text;
  json["done"] = unit.done;
  json["of"] = unit.of;
  json["said"] = unit.said;
  json["child_cpu"] = unit.child_cpu;
  json["child_rss"] = unit.child_rss;
  return json;
}

RunNow::Unit UnitOf(const Json& json) {
  RunNow::Unit unit;
  unit.unit = json["unit"].AsString();
  unit.since = SecondsOf(json["since"]);
  unit.records = json["records"].AsCount();
  unit.text = json["text"].AsCount();
  unit.done = json["done"].AsCount();
  unit.of = json["of"].AsCount();
  unit.said = json["said"].AsString();
  unit.child_cpu = SecondsOf(json["child_cpu"]);
  unit.child_rss = json["child_rss"].AsCount();
  return unit;
}

}  // namespace

std::string EncodeNow(const RunNow& now) {
  Json json;
  json["now"] = 1;
  json["at"] = now.at;
  json["cpu"] = now.cpu;
  json["rss"] = now.rss;
  json["to_disk"] = now.to_disk;
  json["written"] = now.written;
  for (const RunNow::Unit& unit : now.units) json["units"].Append(ToJson(unit));
  for (const auto& [stage, shards] : now.shards) {
    json["shards"][stage].Append(shards.first);
    json["shards"][stage].Append(shards.second);
  }
  return json.Dump() + "\n";
}

std::optional<RunNow> ParseNow(std::string_view text) {
  const Result<Json> json = Json::Parse(text);
  if (!json.ok() || (*json)["now"].AsInt() != 1) return std::nullopt;
  RunNow now;
  now.at = SecondsOf((*json)["at"]);
  now.cpu = SecondsOf((*json)["cpu"]);
  now.rss = (*json)["rss"].AsCount();
  now.to_disk = (*json)["to_disk"].AsCount();
  now.written = (*json)["written"].AsCount();
  for (const Json& unit : (*json)["units"].AsArray()) now.units.push_back(UnitOf(unit));
  for (const auto& [stage, shards] : (*json)["shards"].AsObject())
    if (shards.AsArray().size() == 2)
      now.shards.emplace(stage, std::pair(shards.AsArray()[0].AsCount(), shards.AsArray()[1].AsCount()));
  return now;
}

void WriteNow(const std::string& directory, const RunNow& now) {
  const std::string path = PathIn(directory), part = path + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "we");
  if (file == nullptr) return;
  const std::string text = EncodeNow(now);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  // A reader sees the whole old file or the whole new one.
  if (std::fclose(file) != 0 || !written || std::rename(part.c_str(), path.c_str()) != 0)
    std::remove(part.c_str());
}

void RemoveNow(const std::string& directory) { std::remove(PathIn(directory).c_str()); }

std::optional<RunNow> ReadNow(const std::string& directory) {
  const Result<std::string> text = ReadWholeFile(PathIn(directory));
  return text.ok() ? ParseNow(*text) : std::nullopt;
}

}  // namespace pipeline
