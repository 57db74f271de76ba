// A time on the command line: 90s, 30m, 2h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pipeline {

/// A whole number from 1 to a million with s, m or h. Absent: the word is none.
std::optional<std::chrono::seconds> ParseTimeWord(std::string_view word);

/// For Word::refusal. Empty: the word is a time.
std::string RefuseTimeWord(const std::string& word);

}  // namespace pipeline
