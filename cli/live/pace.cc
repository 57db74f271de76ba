#include "cli/live/pace.h"

#include <algorithm>

namespace pipeline {

namespace {

using std::chrono::duration;
using std::chrono::seconds;

constexpr Pace::Time kWindow = seconds(60);
constexpr Pace::Time kLeast = seconds(2);        // of observation before the first estimate
constexpr Pace::Time kStandsStill = seconds(5);  // or three mean steps, if these take longer
constexpr std::size_t kMostPoints = 512;

}  // namespace

void Pace::Note(Time now, std::uint64_t done) {
  if (!points_.empty() && done < points_.back().done) points_.clear();
  if (points_.empty() || done > points_.back().done) points_.push_back({now, done});
  while (points_.size() > 2 && (points_[1].at <= now - kWindow || points_.size() > kMostPoints))
    points_.pop_front();
}

double Pace::Rate(Time now) const {
  if (points_.size() < 2 || now <= points_.front().at) return 0;
  return static_cast<double>(points_.back().done - points_.front().done) /
         duration<double>(now - points_.front().at).count();
}

std::optional<double> Pace::Left(Time now, std::uint64_t all) const {
  if (points_.size() < 2 || now - points_.front().at < kLeast) return std::nullopt;
  const Point& last = points_.back();
  if (last.done >= all) return std::nullopt;
  const Time step = (last.at - points_.front().at) / static_cast<std::int64_t>(points_.size() - 1);
  if (now - last.at > std::max(kStandsStill, 3 * step)) return std::nullopt;
  // The time since the last change belongs to the next change, until it is longer than that of others.
  const Time elapsed = std::max(last.at - points_.front().at, now - points_.front().at - step);
  const double each =
      duration<double>(elapsed).count() / static_cast<double>(last.done - points_.front().done);
  return std::max(static_cast<double>(all - last.done) * each - duration<double>(now - last.at).count(), 0.0);
}

}  // namespace pipeline
