// About how long a training takes on the CPUs of a machine, before anything runs and without the trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"

namespace pipeline {

struct CpuTime {
  std::uint64_t parameters = 0;
  std::int64_t rows = 0, seq_len = 0;  // of a step
  std::int64_t steps = 0;              // 0: not given
  double step_seconds = 0;             // at best
};

/// `question`: as FitQuestion. Absent: it lacks the length of the rows or the vocabulary.
std::optional<CpuTime> CpuTimeOf(const Json& question, int cores);

/// The answer of `pipe trainer fit --on cpu`, in lines.
std::string CpuAnswer(const CpuTime& time, int cores);

/// A warning of a training that takes months or years here; empty: it does not.
std::string CpuWarning(const CpuTime& time, int cores);

/// The cores that this process may use.
int UsableCores();

}  // namespace pipeline
