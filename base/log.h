// Messages of a run to people, besides its results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pipeline {

enum class Level : std::uint8_t { kInfo, kWarning, kError };

/// Receives each message, from any thread, one at a time. `message` is one line without a line end.
using LogSink = std::function<void(Level level, std::string_view message)>;

/// Sets the receiver of messages (default: standard error) and returns the previous one. It is a global:
/// cli/ sets it before threads start.
LogSink SetLogSink(LogSink sink);

/// Writes one line. Line ends inside `message` become spaces, other control characters `?`.
void Log(Level level, std::string_view message);

inline void LogInfo(std::string_view message) { Log(Level::kInfo, message); }
inline void LogWarning(std::string_view message) { Log(Level::kWarning, message); }
inline void LogError(std::string_view message) { Log(Level::kError, message); }

}  // namespace pipeline
