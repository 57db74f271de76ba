#include "cli/hand_back.h"

#include <memory>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "dag/hand_out.h"
#include "remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kNoteName = "handed-out.txt";
constexpr std::uint64_t kMaxNote = 64 << 10;

Status TakeBackOf(Workplace& place, const std::string& hand_out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(hand_out));
  std::vector<std::string> unreadable;
  const Result<std::size_t> taken = TakeBack(*store, place.log(), unreadable);
  for (const std::string& object : unreadable)
    LogWarning(StrCat(hand_out, "/", object, ": cannot be read; its unit will run again"));
  return taken.status();
}

}  // namespace

Status TakeBackFrom(Workplace& place, const std::string& hand_out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> work, place.environment().work_store(""));
  RETURN_IF_ERROR(WriteObject(*work, kNoteName, hand_out, Condition::ReplaceAny()).status());
  return TakeBackOf(place, hand_out);
}

Status TakeBackAny(Workplace& place) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> work, place.environment().work_store(""));
  const Result<std::string> hand_out = ReadObject(*work, kNoteName, kMaxNote);
  if (!hand_out.ok()) return hand_out.status().code() == Code::kNotFound ? Status() : hand_out.status();
  return TakeBackOf(place, *hand_out);
}

}  // namespace pipeline
