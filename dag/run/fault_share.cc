#include "dag/run/fault_share.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

// So few records never break a bound unless they are half of all.
constexpr double kFew = 20;
constexpr double kHalf = 0.5;
constexpr double kTold = 0.1;
// Fewer bytes at fault say nothing: the lengths of a few short records differ much.
constexpr std::uint64_t kLeastBytes = 4 << 10;
// The bytes are told beside the records if their share is so many times as large.
constexpr double kTellingBytes = 1.5;

std::string ShareText(const char* format, double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, share);
  return text.data();
}

/// Nothing but the whole is 100 %.
std::string Percent(double share) {
  return StrCat(ShareText("%.4g", share < 1 ? std::min(100 * share, 99.99) : 100), " %");
}

double Ratio(double part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, part / static_cast<double>(whole));
}

}  // namespace

FaultShare::FaultShare(const FaultBound& bound, const std::vector<Reason>& reasons, const StageCounts& counts)
    : bound_(bound), records_(RecordsTaken(reasons, counts)) {
  std::uint64_t bytes = counts.bytes_in;
  for (const auto& [name, size] : counts.sizes)
    if (const Reason* reason = FindReason(reasons, name); reason && reason->fate == Reason::Fate::kNotMeant)
      bytes -= std::min(bytes, size.bytes);
  std::uint64_t bad_bytes = 0;
  std::pair<double, std::string_view> most_records, most_bytes;
  for (const std::string_view name : bound.reasons) {
    const Reason* const reason = FindReason(reasons, name);
    if (reason == nullptr) continue;
    const auto found = counts.sizes.find(name);
    const ReasonSize size = found == counts.sizes.end() ? ReasonSize() : found->second;
    const double faults = RecordsCounted(reasons, counts, *reason) + static_cast<double>(size.more_lines);
    faults_ += faults;
    records_ += size.more_lines;
    bad_bytes += size.bytes;
    most_records = std::max(most_records, {faults, name});
    most_bytes = std::max(most_bytes, {static_cast<double>(size.bytes), name});
  }
  // A line may be cut, and each of its parts may be at fault.
  faults_ = std::min(faults_, static_cast<double>(records_));
  of_records_ = Ratio(faults_, records_);
  if (bad_bytes >= kLeastBytes) of_bytes_ = Ratio(static_cast<double>(bad_bytes), bytes);
  if (any()) main_reason_ = tells_bytes() ? most_bytes.second : most_records.second;
}

double FaultShare::share() const { return std::max(of_records_, of_bytes_); }

bool FaultShare::tells_bytes() const { return of_bytes_ > kTellingBytes * of_records_; }

bool FaultShare::IsBroken() const {
  return any() && share() > bound_.share && (faults_ > kFew || share() >= kHalf);
}

bool FaultShare::IsTold() const { return any() && share() >= kTold; }

std::string FaultShare::What() const { return StrCat(faults(), " of ", records_, " ", bound_.noun, "s"); }

std::string FaultShare::Broken() const {
  return StrCat(What(), tells_bytes() ? StrCat(", with ", Percent(of_bytes_), " of the bytes,") : "",
                faults() == 1 ? " is " : " are ",
                bound_.lacks.empty() ? std::string("at fault") : StrCat("without ", bound_.lacks),
                ", more than ", bound_.key, " (", ShareText("%.6g", bound_.share), ") allows");
}

std::string FaultShare::OrRaise() const {
  return share() >= 1 ? std::string() : StrCat("; or raise ", bound_.key, " if so many are right");
}

std::string FaultShare::Told() const {
  return StrCat(What(), " (", Percent(of_records_),
                tells_bytes() ? StrCat("; ", Percent(of_bytes_), " of the bytes)") : ")",
                faults() == 1 ? " was" : " were");
}

}  // namespace pipeline
