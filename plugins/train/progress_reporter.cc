#include "plugins/train/progress_reporter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "base/terminal_text.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostNote = 160;  // bytes of a sample that is shown
constexpr int kMostWarnings = 50;
constexpr int kMostNotes = 40;  // in a second: an evaluation has a few, a flood has more
constexpr double kWindow =
    60;  // seconds that the time of a step is taken of, at least, if the steps last as long
constexpr double kLeastSpan = 2;

std::string Number(double value, int digits) {
  std::array<char, 64> text = {};
  (void)std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

/// A loss; "nan" where the event has none.
std::string Loss(const Json& value, int digits) {
  return value.is_number() ? Number(value.AsDouble(), digits) : "nan";
}

/// A number of any size, in four figures.
std::string Figures(double value) {
  std::array<char, 64> text = {};
  (void)std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

/// "850 ms", "1.31 s", "95.2 s", "312 s"
std::string Seconds(double value) {
  if (value < 1) return StrCat(Number(1000 * value, value < 0.01 ? 1 : 0), " ms");
  return StrCat(Number(value, value < 10 ? 2 : value < 100 ? 1 : 0), " s");
}

/// "12.3 k", "3.2 M"
std::string Short(double value) {
  if (!std::isfinite(value)) return "?";
  constexpr std::array<const char*, 5> kUnits = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; std::fabs(value) >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return Number(value, unit == 0 || std::fabs(value) >= 100 ? 0 : 1) + kUnits[unit];
}

}  // namespace

void ProgressReporter::Note(std::string_view text) {
  const std::chrono::nanoseconds now = SystemClock().Monotonic();
  if (now - second_ >= std::chrono::seconds(1)) second_ = now, notes_ = 0;
  if (++notes_ > kMostNotes) return;
  call_.event(Json::Object{{"kind", "note"}, {"text", text}});
}

void ProgressReporter::Hear(const Json& event) {
  const std::string_view kind = event["kind"].AsString();
  if (kind == "step" || kind == "hb") return Steps(event);
  if (kind == "phase") return Phase(event);
  if (kind == "preempt") {
    steps_run_ = false;
    Move(event["step"].AsInt(step_), StrCat("stopping, step ", event["step"].AsInt(step_), " of ", steps_));
  }
  if (kind == "eval") return Evaluated(event);
  if (kind == "baseline" && event["name"].AsString() == "bigram_kn")
    bigram_ = event["bits_per_char"].AsDouble();
  if (kind == "price") Priced(event);
  if (kind == "plan")
    Note(StrCat(Short(event["params"].AsDouble()), " parameters; ", event["steps"].AsInt(),
                event["steps"].AsInt() == 1 ? " step of " : " steps of ", event["tokens_per_step"].AsInt(),
                " tokens, ", Number(event["epochs"].AsDouble(), 2), " epochs"));
  if (kind == "fit") Note(Readable(event["text"].AsString(), kMostNote));
  if (kind == "restore")
    Note(StrCat("the training goes on from the checkpoint at step ", event["step"].AsInt()));
  if (kind == "extend")
    Note(StrCat("more steps: the training goes back from step ", event["from"].AsInt(),
                " to the checkpoint before the rate fell, at step ", event["to"].AsInt()));
  if (kind == "early_stop")
    Note(StrCat("stopped early at step ", event["step"].AsInt(), ": ",
                Readable(event["reason"].AsString(), 300)));
  if (kind == "sample")
    Note(StrCat("step ", event["step"].AsInt(), ": ", Readable(event["prompt"].AsString(), kMostNote), " | ",
                Readable(event["text"].AsString(), kMostNote)));
  if (kind == "rewind")
    call_.log(Level::kWarning, StrCat("the training diverged: it goes back from step ", event["from"].AsInt(),
                                      " to the checkpoint at step ", event["to"].AsInt()));
  if (kind == "warn" && warnings_++ < kMostWarnings)
    call_.log(Level::kWarning, StrCat("the trainer warns: ", Readable(event["text"].AsString(), 500)));
}

void ProgressReporter::Phase(const Json& event) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSaid = {
      {{"init", "starting"},
       {"wait", "waiting"},
       {"fetch", "waiting for files"},
       {"compile", "compiling"},
       {"eval", "evaluating"},
       {"checkpoint", "saving"},
       {"export", "exporting"},
       {"done", "finishing"}}};
  steps_run_ = false;
  if (event["name"].AsString() == "step") return BeginSteps(event);
  for (const auto& [name, said] : kSaid)
    if (event["name"].AsString() == name)
      Move(event["step"].AsInt(step_), StrCat(said, ", step ", event["step"].AsInt(step_), " of ", steps_));
}

void ProgressReporter::BeginSteps(const Json& event) {
  steps_run_ = true;
  older_ = newer_ = {event["m"].AsDouble(), event["step"].AsInt()};
  Steps(event);
}

/// A heartbeat tells the step as well, and comes more often than the numbers of steps.
void ProgressReporter::Steps(const Json& event) {
  const Mark now = {event["m"].AsDouble(), event["step"].AsInt(-1)};
  if (now.step < 0) return;
  if (event["kind"].AsString() == "step") {
    numbers_ = event["loss"].is_number() ? StrCat(", loss ", Number(event["loss"].AsDouble(), 3))
                                         : std::string(", no loss");
    numbers_of_ = now.step;
    if (now.step < older_.step || !steps_run_) return BeginSteps(event);  // a program tells no phases
  }
  if (!steps_run_) return;
  // A step that is not over yet has no time.
  if (now.step > std::max(step_, older_.step) && now.at - older_.at >= kLeastSpan)
    step_time_ = (now.at - older_.at) / static_cast<double>(now.step - older_.step);
  if (now.at - newer_.at >= kWindow) older_ = std::exchange(newer_, now);
  std::string text = StrCat("step ", now.step, " of ", steps_);
  if (step_time_ > 0) text += StrCat(", ", Seconds(step_time_), " a step");
  text += numbers_;
  if (!numbers_.empty() && numbers_of_ != now.step) text += StrCat(" at step ", numbers_of_);
  if (event["tokens_per_s"].is_number())
    text += StrCat(", ", Short(event["tokens_per_s"].AsDouble()), " tokens/s");
  if (event["mfu"].is_number()) text += StrCat(", MFU ", Number(100 * event["mfu"].AsDouble(), 1), " %");
  Move(now.step, text);
}

void ProgressReporter::Move(std::int64_t step, std::string_view text) {
  step_ = std::clamp<std::int64_t>(step, 0, steps_);
  call_.Progress(step_, steps_run_ ? steps_ : 0, text);  // what is no step has no pace of steps
}

/// The loss with leaner weights of the export.
void ProgressReporter::Priced(const Json& event) {
  std::string text = StrCat(Readable(event["file"].AsString(), 40), " (",
                            Readable(event["weights"].AsString(), 80), "): loss ", Loss(event["loss"], 4));
  if (event["bits_per_char"].is_number())
    text += StrCat(", ", Number(event["bits_per_char"].AsDouble(), 4), " bits per character");
  Note(StrCat(text, "; as trained ", Loss(event["trained"], 4)));
}

void ProgressReporter::Evaluated(const Json& event) {
  std::string text =
      StrCat("step ", event["step"].AsInt(), ": ", Readable(event["split"].AsString("validation"), 40),
             " loss ", Loss(event["loss"], 3));
  if (event["bits_per_char"].is_number()) {
    text += StrCat(", ", Number(event["bits_per_char"].AsDouble(), 3), " bits per character");
    if (bigram_ > 0) text += StrCat(" (bigram ", Number(bigram_, 3), ")");
  }
  if (event["macro_f1"].is_number())
    text += StrCat(", macro F1 ", Number(event["macro_f1"].AsDouble(), 3), ", balanced accuracy ",
                   Number(event["balanced_accuracy"].AsDouble(), 3));
  if (event["rmse"].is_number())
    text += StrCat(", root mean square error ", Figures(event["rmse"].AsDouble()), ", Pearson correlation ",
                   Number(event["pearson"].AsDouble(), 3));
  if (event["next_sentence_accuracy"].is_number())
    text +=
        StrCat(", next sentence ", Number(100 * event["next_sentence_accuracy"].AsDouble(), 1), " % right");
  Note(text);
}

}  // namespace pipeline
