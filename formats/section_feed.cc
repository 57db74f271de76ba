#include "formats/section_feed.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kCarryBytes = 4096;  // enough for most lines and for a key

}  // namespace

void SectionFeed::Feed(std::string_view bytes) {
  in_carry_ = !rest().empty();
  if (!in_carry_) begin_ = 0;
  carried_ = 0;
  fed_ = bytes;
}

bool SectionFeed::LookFurther() {
  if (!in_carry_ || carried_ == fed_.size()) return false;
  const std::size_t left = rest().size();
  if (left <= carried_) {  // all of it comes from fed_
    in_carry_ = false;
    begin_ = carried_ - left;
    return true;
  }
  carry_.erase(0, begin_);
  begin_ = 0;
  const std::string_view more = fed_.substr(carried_, std::max(carried_, kCarryBytes));
  carry_.append(more);
  carried_ += more.size();
  return true;
}

void SectionFeed::Carry() {
  if (in_carry_)
    carry_.erase(0, begin_);
  else
    carry_.assign(rest());
  in_carry_ = true;
  begin_ = 0;
  carried_ = 0;
  fed_ = {};
}

Result<bool> SectionFeed::PassMark(std::uint64_t& marks) {
  using namespace std::string_view_literals;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRefused = {{
      {"\xFF\xFE\0\0"sv, "UTF-32LE"},
      {"\0\0\xFE\xFF"sv, "UTF-32BE"},
      {"\xFF\xFE"sv, "UTF-16LE"},
      {"\xFE\xFF"sv, "UTF-16BE"},
  }};
  if (rest().size() < 4 && !finished()) return false;
  for (const auto& [mark, name] : kRefused)
    if (rest().starts_with(mark))
      return Status(Code::kInvalidArgument,
                    StrCat("text is ", name,
                           ", as its byte order mark says, and not UTF-8; convert it first (iconv -f ", name,
                           " -t UTF-8)"));
  if (rest().starts_with("\xEF\xBB\xBF")) {
    ++marks;
    Consume(3);
  }
  return mark_passed_ = true;
}

bool SectionFeed::BeginNextSection() {
  if (!std::exchange(section_ends_, false)) return false;
  finished_ = mark_passed_ = false;
  return true;
}

}  // namespace pipeline
