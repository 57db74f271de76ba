#include "plugins/train/config/cpu_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <thread>

#include "base/str.h"
#include "plugins/train/config/check_config.h"

namespace pipeline {

namespace {

/// Operations per second of a core that trains with 32 bits, at best: a core of today has twice as many at
/// its peak.
constexpr double kOperationsPerCore = 40e9;
/// The least time of a step: its operations begin one by one.
constexpr double kLeastSeconds = 0.002;
constexpr double kDay = 86'400, kMonth = 30 * kDay, kYear = 365 * kDay;

/// "2.5 years": one digit behind the point below ten.
std::string Counted(double number, std::string_view unit) {
  char text[32];
  std::snprintf(text, sizeof text, number < 9.95 ? "%.1f" : "%.0f", number);
  return StrCat(text, " ", unit);
}

std::string ShownTime(double seconds) {
  struct Unit {
    double least, seconds;
    std::string_view name;
  };
  static constexpr std::array<Unit, 5> kUnits = {{{kYear, kYear, "years"},
                                                  {2 * kDay, kDay, "days"},
                                                  {7'200, 3'600, "hours"},
                                                  {120, 60, "minutes"},
                                                  {1, 1, "seconds"}}};
  for (const Unit& unit : kUnits)
    if (seconds >= unit.least) return Counted(seconds / unit.seconds, unit.name);
  return Counted(seconds * 1e3, "milliseconds");
}

struct Shape {
  double layer = 0, table = 0;  // parameters
  double scores = 0;            // operations of a position in all layers
};

Shape ShapeOf(const Json& model, double seq_len, double vocab) {
  const double d = model["d"].AsDouble(), heads = model["heads"].AsDouble();
  const double kv_heads = model["kv_heads"].AsDouble(heads);
  const double head_dim = model["head_dim"].AsDouble(std::max(std::floor(d / heads), 1.0));
  const std::string_view family = model["family"].AsString();
  const double mlp = family == "llama" || family == "t5" ? 3 : 2;  // matrices
  Shape shape;
  shape.layer = d * head_dim * 2 * (heads + kv_heads) + mlp * d * model["ff"].AsDouble();
  shape.table = vocab * d;
  shape.scores = 6 * model["layers"].AsDouble() * heads * head_dim * seq_len;
  return shape;
}

}  // namespace

std::optional<CpuTime> CpuTimeOf(const Json& question, int cores) {
  const Json values = CompleteTrainerConfig(question["config"]);
  const Json& model = values["model"];
  CpuTime time;
  time.rows = values["batch"]["rows"].AsInt();
  time.seq_len = question["seq_len"].AsInt(model["seq_len"].AsInt());
  time.steps = question["steps"].AsInt();
  const std::int64_t vocab = question["vocab"].AsInt(model["vocab"].AsInt());
  if (time.rows < 1 || time.seq_len < 1 || vocab < 1 || model["heads"].AsInt() < 1) return std::nullopt;
  const Shape shape = ShapeOf(model, static_cast<double>(time.seq_len), static_cast<double>(vocab));
  const double layers = model["layers"].AsDouble() * shape.layer;
  time.parameters = static_cast<std::uint64_t>(layers + shape.table * (model["tied"].AsBool() ? 1 : 2));
  const double positions = static_cast<double>(time.rows) * static_cast<double>(time.seq_len);
  // Other objectives than the causal one score few positions.
  const bool scores_all = values["objective"]["name"].AsString() == "causal";
  const double each = 6 * (layers + (scores_all ? shape.table : 0)) + shape.scores;
  time.step_seconds = std::max(positions * each / (kOperationsPerCore * std::max(cores, 1)), kLeastSeconds);
  return time;
}

std::string CpuAnswer(const CpuTime& time, int cores) {
  std::string text =
      StrCat("cpu (", cores, cores == 1 ? " core): " : " cores): ",
             Counted(static_cast<double>(time.parameters) / 1e6, "M parameters"), ", ", time.rows,
             " rows of ", time.seq_len, " ids a step\n  time        ", ShownTime(time.step_seconds),
             " a step at best, by 40 GFLOP/s a core (extrapolated: nothing was measured here)\n");
  if (time.steps > 0)
    text += StrCat("  run         ", ShownTime(time.step_seconds * static_cast<double>(time.steps)), " for ",
                   time.steps, " steps at best, without evaluations and checkpoints\n");
  return text;
}

std::string CpuWarning(const CpuTime& time, int cores) {
  const double seconds = time.step_seconds * static_cast<double>(time.steps);
  if (seconds < kMonth) return {};
  return StrCat("on the CPU of this machine (", cores, cores == 1 ? " core) " : " cores) ", time.steps,
                " steps take ", ShownTime(seconds), " at best, ", ShownTime(time.step_seconds),
                " each; take a smaller preset, fewer steps, or a GPU or TPU");
}

int UsableCores() { return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U)); }

}  // namespace pipeline
