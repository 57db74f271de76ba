#include "cli/live/run_now.h"

#include <cstdio>

#include "base/json_fields.h"
#include "base/str.h"
#include "base/whole_file.h"

namespace pipeline {

namespace {

std::string PathIn(const std::string& directory) { return StrCat(directory, "/now.json"); }

}  // namespace

template <class Fields, Of<RunNow::Unit> T>
void ListFields(Fields& fields, T& unit) {
  fields.Written("unit", unit.unit).Written("since", unit.since).Written("records", unit.records);
  fields.Written("text", unit.text).Written("done", unit.done).Written("of", unit.of);
  fields.Written("said", unit.said).Written("child_cpu", unit.child_cpu);
  fields.Written("child_rss", unit.child_rss);
}

template <class Fields, Of<RunNow> T>
void ListFields(Fields& fields, T& now) {
  fields.Written("at", now.at).Written("cpu", now.cpu).Written("rss", now.rss);
  fields.Written("to_disk", now.to_disk).Written("written", now.written);
  fields.Loose("units", now.units).Loose("shards", now.shards);
}

std::string EncodeNow(const RunNow& now) {
  JsonWriter writer;
  ListFields(writer.Written("now", 1), now);
  return writer.Finish().Dump() + "\n";
}

std::optional<RunNow> ParseNow(std::string_view text) {
  const Result<Json> json = Json::Parse(text);
  if (!json.ok() || (*json)["now"].AsInt() != 1) return std::nullopt;
  return JsonFields::ReadLoosely<RunNow>(*json);
}

void WriteNow(const std::string& directory, const RunNow& now) {
  (void)WriteWholeFile(PathIn(directory), EncodeNow(now), Durability::kSeen);  // only people miss it
}

void RemoveNow(const std::string& directory) { std::remove(PathIn(directory).c_str()); }

std::optional<RunNow> ReadNow(const std::string& directory) {
  const Result<std::string> text = ReadWholeFile(PathIn(directory));
  return text.ok() ? ParseNow(*text) : std::nullopt;
}

}  // namespace pipeline
