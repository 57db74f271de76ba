#include "base/log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/mutex.h"
#include "base/terminal_text.h"

namespace pipeline {

namespace {

void ToStandardError(Level level, std::string_view message) {
  const char* prefix = level == Level::kError ? "error: " : level == Level::kWarning ? "warning: " : "";
  std::fprintf(stderr, "%s%.*s\n", prefix, static_cast<int>(message.size()), message.data());
}

struct Target {
  Mutex mutex;
  LogSink sink GUARDED_BY(mutex) = ToStandardError;
};

Target& TheTarget() {
  static Target target;
  return target;
}

}  // namespace

LogSink SetLogSink(LogSink sink) {
  Target& target = TheTarget();
  const Lock lock(target.mutex);
  return std::exchange(target.sink, std::move(sink));
}

void Log(Level level, std::string_view message) {
  std::string line(message);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  line = TerminalText(line);
  Target& target = TheTarget();
  const Lock lock(target.mutex);
  if (target.sink) target.sink(level, line);
}

}  // namespace pipeline
