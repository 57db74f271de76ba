// The events of one attempt of a program that sends none: external.md, sections 3 and 5.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "plugins/native/services.h"
#include "plugins/train/attempt.h"
#include "plugins/train/external/event_files.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/output_recogniser.h"
#include "plugins/train/external/program_checkpoints.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// A thread of its own looks for checkpoints and copies them, because large ones take minutes.
class ExternalProgram : public EventSource {
 public:
  /// All arguments outlive it; `checkpoints` is null if none are recognised, and otherwise belongs to this
  /// object until Ended. `directory`: that of the program. `restored`: step of the checkpoint at the start;
  /// -1: none.
  ExternalProgram(const TrainJob& job, std::int64_t attempt, const ExternalSettings& settings,
                  const std::string& directory, ProgramCheckpoints* checkpoints, std::int64_t restored,
                  const PluginServices& call);
  ~ExternalProgram() override;

  void Output(std::string_view bytes) override;
  void Poll(const Take& take) override;
  void Ended(const ChildExit& exit, const Take& take) override;

  /// The last step that was recognised; -1: none.
  std::int64_t step() const { return step_; }
  const OutputRecogniser::Losses& losses() const { return losses_; }

 private:
  void Watch(const std::stop_token& stop);
  void LookForCheckpoints(bool ended_well);
  void ReadEvents();
  Json Event(std::string_view kind, std::int64_t step);

  const TrainJob& job_;
  const std::int64_t attempt_;
  ProgramCheckpoints* const checkpoints_;
  const std::int64_t restored_;
  const PluginServices& call_;
  const std::chrono::nanoseconds beat_;  // between two signs of life
  OutputRecogniser recogniser_;
  std::optional<EventFiles> events_;  // absent: none are read; of `watch_` until it has ended

  // For the thread of the attempt:
  std::int64_t seq_ = 0;
  std::chrono::nanoseconds beaten_{0};  // when the last sign of life was passed on
  bool lines_ = false;                  // there was output since
  std::int64_t step_ = -1;
  OutputRecogniser::Losses losses_;

  Mutex mutex_;
  std::vector<std::int64_t> taken_ GUARDED_BY(mutex_);  // steps of copies that Poll has not passed on
  std::jthread watch_;                                  // last: it uses the others
};

}  // namespace pipeline
