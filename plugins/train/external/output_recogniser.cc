#include "plugins/train/external/output_recogniser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/words.h"

namespace pipeline {

void OutputRecogniser::Feed(std::string_view bytes, std::chrono::nanoseconds now) {
  const Lock lock(mutex_);
  heard_.lines |= !bytes.empty();
  if (!settings_.step) return;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\n\r");  // CR: a line that is drawn again and again
    const std::string_view piece = bytes.substr(0, end);
    rest_ += piece.substr(0, LinePattern::kMostText - rest_.size());
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!rest_.empty()) Line(rest_, now);
    rest_.clear();
  }
}

void OutputRecogniser::Hear(std::int64_t step, double loss, std::chrono::nanoseconds now) {
  const Lock lock(mutex_);
  heard_.lines = true;
  heard_.step = step;
  Add(loss, now);
}

void OutputRecogniser::Line(std::string_view line, std::chrono::nanoseconds now) {
  const std::optional<std::string> step = settings_.step->Find(line);
  const std::optional<std::int64_t> number = step ? WholeNumber(*step) : std::nullopt;
  if (number) heard_.step = *number;
  if (!settings_.loss) {
    if (number) Add({}, now);
    return;
  }
  const std::optional<std::string> loss = settings_.loss->Find(line);
  const std::optional<double> value = loss ? ParseNumber<double>(*loss) : std::nullopt;
  if (value && heard_.step >= 0) Add(value, now);
}

void OutputRecogniser::Add(std::optional<double> loss, std::chrono::nanoseconds now) {
  if (loss) {
    Losses& losses = heard_.losses;
    if (losses.at >= 0) losses.longest = std::max(losses.longest, heard_.step - losses.at);
    if (std::isfinite(*loss) || losses.broken_since < 0)
      losses.broken_since = std::isfinite(*loss) ? -1 : heard_.step;
    losses.last = *loss;
    losses.at = heard_.step;
  }
  const Step step{heard_.step, loss};
  const bool too_early = told_ >= 0 && step.step >= told_ && step.step - told_ < log_every_ &&
                         now - told_at_ < std::chrono::seconds(1);
  left_out_ = too_early ? std::optional(step) : std::nullopt;
  if (!too_early) Tell(step, now);
}

void OutputRecogniser::Tell(const Step& step, std::chrono::nanoseconds now) {
  told_ = step.step;
  told_at_ = now;
  if (heard_.steps.size() == kMostSteps) heard_.steps.pop_back();
  heard_.steps.push_back(step);
}

void OutputRecogniser::End(std::chrono::nanoseconds now) {
  const Lock lock(mutex_);
  if (!rest_.empty()) Line(rest_, now);
  rest_.clear();
  if (left_out_) Tell(*left_out_, now);
  left_out_.reset();
}

OutputRecogniser::Heard OutputRecogniser::Take() {
  const Lock lock(mutex_);
  Heard heard = std::move(heard_);
  heard_ = {};
  heard_.step = heard.step;
  heard_.losses = heard.losses;
  return heard;
}

}  // namespace pipeline
