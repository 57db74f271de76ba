// Any bytes as a word of an external trainer's command, as a pattern, as output of the program, and as a
// TensorBoard event: each refusal is one readable line, each accepted word is filled, and output gives
// bounded events.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/train/external/event_files.h"
#include "plugins/train/external/line_pattern.h"
#include "plugins/train/external/output_recogniser.h"
#include "plugins/train/external/placeholders.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pipeline;

// The matcher of the C library may take the square of the length of a text: the fuzzer shall not wait.
constexpr std::size_t kMostPattern = 64;
constexpr std::size_t kMostText = 256;

void CheckWord(std::string_view word) {
  static const PlaceholderValues kValues = {
      {"data", "D"},         {"tokenizer", "T"}, {"data_set", "S"},   {"tfds_dir", "F"}, {"tfds_name", "N"},
      {"tfds_version", "V"}, {"checkout", "P"},  {"run_dir", "R"},    {"steps", "1"},    {"seed", "2"},
      {"host", "0"},         {"hosts", "1"},     {"coordinator", "C"}};
  const Status checked = CheckPlaceholders("command", word);
  if (!checked.ok()) {
    Require(checked.code() == Code::kInvalidArgument && checked.message().starts_with("command: "));
    return;
  }
  const std::string filled = FillPlaceholders(word, kValues);
  Require(filled.size() <= word.size());
  if (word.find_first_of("{}") == std::string_view::npos) Require(filled == word);
}

void CheckPattern(std::string_view pattern, std::string_view text) {
  if (pattern.size() > kMostPattern) return;
  const Result<LinePattern> compiled = LinePattern::Compile(std::string(pattern));
  if (!compiled.ok()) {
    Require(compiled.status().code() == Code::kInvalidArgument);
    return;
  }
  const std::optional<std::string> found = compiled->Find(text), whole = compiled->MatchWhole(text);
  if (found) Require(found->size() <= text.size());
  if (whole) Require(whole->size() <= text.size());
}

void CheckOutput(std::string_view text) {
  static const ExternalSettings kSettings = [] {
    ExternalSettings settings;
    settings.step = *LinePattern::Compile("s([0-9]+)");
    settings.loss = *LinePattern::Compile("l([-+.0-9a-z]+)");
    return settings;
  }();
  // The division of the output into pieces changes nothing.
  OutputRecogniser whole(kSettings, 2), pieces(kSettings, 2);
  whole.Feed(text, std::chrono::nanoseconds(0));
  for (std::size_t at = 0; at < text.size(); at += 7)
    pieces.Feed(text.substr(at, 7), std::chrono::nanoseconds(0));
  whole.End(std::chrono::nanoseconds(0));
  pieces.End(std::chrono::nanoseconds(0));
  const OutputRecogniser::Heard one = whole.Take(), other = pieces.Take();
  Require(one.step == other.step && one.lines == other.lines && one.steps.size() == other.steps.size());
  Require(one.steps.size() <= OutputRecogniser::kMostSteps && one.step >= -1);
  for (std::size_t at = 0; at < one.steps.size(); ++at)
    Require(one.steps[at].step == other.steps[at].step && one.steps[at].step >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckWord(text);
  const std::size_t line = text.find('\n');
  if (line != std::string_view::npos) CheckPattern(text.substr(0, line), text.substr(line + 1, kMostText));
  CheckOutput(text);
  if (const std::optional<EventScalar> scalar = ScalarOf(text, "l")) Require(scalar->step >= 0);
  return 0;
}
