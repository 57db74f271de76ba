// One place for what a run tells people besides its results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pipeline {

enum class Level : std::uint8_t { kInfo, kWarning, kError };

/// Takes each message, from any thread, one at a time. `message` is one line without its end.
using LogSink = std::function<void(Level level, std::string_view message)>;

/// Replaces where messages go (standard error by default) and returns what was there. The one
/// mutable global of the program besides the signal flag: set by cli/ before threads start.
LogSink SetLogSink(LogSink sink);

/// Line ends inside `message` are written as spaces: a log line is one line. Other control characters are
/// `?`.
void Log(Level level, std::string_view message);

inline void LogInfo(std::string_view message) { Log(Level::kInfo, message); }
inline void LogWarning(std::string_view message) { Log(Level::kWarning, message); }
inline void LogError(std::string_view message) { Log(Level::kError, message); }

}  // namespace pipeline
