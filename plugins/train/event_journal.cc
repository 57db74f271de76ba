#include "plugins/train/event_journal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "base/status.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr int kMostASecond = 2000;
constexpr std::size_t kMostForHost = 60 << 10;  // the host takes 64 KiB
constexpr std::streamoff kLastBytes = 64 << 10;
/// Kinds of events that report progress and the reason of the end: they are kept in any flood.
constexpr std::array<std::string_view, 7> kDeciding = {"phase",    "restore", "extend", "ckpt_commit",
                                                       "ckpt_pin", "error",   "bye"};

bool Decides(std::string_view kind) {
  return std::find(kDeciding.begin(), kDeciding.end(), kind) != kDeciding.end();
}

}  // namespace

KeptEvents LastKept(const std::string& path) {
  std::ifstream file(path, std::ios::ate | std::ios::binary);
  const std::streamoff size = file.tellg();
  if (size > kLastBytes) file.seekg(size - kLastBytes);
  if (size <= kLastBytes) file.seekg(0);
  KeptEvents kept;
  for (std::string line; std::getline(file, line);) {
    const Result<Json> event = Json::Parse(line);  // the first line may be torn
    if (!event.ok()) continue;
    kept.attempt = (*event)["attempt"].AsInt(kept.attempt);
    if ((*event)["kind"].AsString() == "step") kept.step = (*event)["step"].AsInt(-1);
  }
  return kept;
}

EventJournal::EventJournal(std::string path, const PluginServices& call)
    : path_(std::move(path)), call_(call) {
  file_ = std::fopen(path_.c_str(), "a+e");
  if (file_ == nullptr) {
    given_up_ = true;
    call_.log(Level::kWarning, StrCat("events are not kept: ", SystemError(path_, errno).message()));
    return;
  }
  const bool torn = std::fseek(file_, -1, SEEK_END) == 0 && std::fgetc(file_) != '\n';
  std::fseek(file_, 0, SEEK_END);  // between reading and writing
  if (torn) Write("");
}

EventJournal::~EventJournal() {
  if (file_ != nullptr) std::fclose(file_);
}

void EventJournal::Keep(const Json& event, std::chrono::nanoseconds now) {
  if (now - second_ >= std::chrono::seconds(1)) second_ = now, in_second_ = 0;
  const std::string_view kind = event["kind"].AsString();
  if (++in_second_ > kMostASecond && !Decides(kind)) {
    ++drowned_;
    return;
  }
  const std::string line = event.Dump();
  Write(line);
  const bool ours = kind == "progress" || kind == "note";  // what people are shown is the stage's to say
  if (kind != "hb" && !ours && line.size() <= kMostForHost) call_.event(event);
}

void EventJournal::Write(const std::string& line) {
  if (given_up_) return;
  // Written line by line, so that a program that follows the file sees whole lines.
  if (std::fputs((line + "\n").c_str(), file_) >= 0 && std::fflush(file_) == 0) return;
  given_up_ = true;
  call_.log(Level::kWarning, StrCat("events are not kept any more: ", SystemError(path_, errno).message()));
}

}  // namespace pipeline
