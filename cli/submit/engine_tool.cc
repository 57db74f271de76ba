#include "cli/submit/engine_tool.h"

#include <array>
#include <chrono>
#include <fstream>
#include <memory>

#include "base/child_process.h"
#include "base/str.h"
#include "cli/terminal/command_line.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kGrace(5);
constexpr std::string_view kSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";

/// Returns `text` in one line: "sbatch: error: Invalid partition" becomes "Invalid partition".
std::string OneLine(std::string_view text, const std::string& program) {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    for (const std::string_view front : {std::string_view(program), std::string_view("error")})
      if (part.starts_with(front) && part.substr(front.size()).starts_with(": "))
        part.remove_prefix(front.size() + 2);
    if (part.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!line.empty()) line += "; ";
    line += part;
  }
  return line;
}

}  // namespace

Result<std::string> CallTool(const std::vector<std::string>& argv, const std::stop_token& stop) {
  ChildOptions options;
  options.argv = argv;
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  child->CloseInput();
  std::string out;
  std::array<char, 16 << 10> buffer;
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t size, child->Read(buffer, stop));
    if (size == 0) break;
    out.append(buffer.data(), size);
  }
  ASSIGN_OR_RETURN(const ChildExit end, child->Wait(stop, kGrace));
  if (end.ok()) return out;
  const std::string said = OneLine(child->StderrTail(), argv.front());
  const bool silent = said.find("Unable to contact slurm controller") != std::string::npos ||
                      said.find("Socket timed out") != std::string::npos;
  return Status(silent ? Code::kUnavailable : Code::kInvalidArgument,
                StrCat(argv.front(), ": ", said.empty() ? end.Describe() : said));
}

Status WriteEngineFile(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text << std::flush;
  if (!out) return Status(Code::kUnavailable, StrCat(path, ": cannot be written"));
  return {};
}

std::string ShellWords(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    line += !word.empty() && word.find_first_not_of(kSafe) == word.npos ? word : ShellQuoted(word);
  }
  return line;
}

}  // namespace pipeline
