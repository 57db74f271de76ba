// Stages that run, each the smallest of its kind: for tests of what the executor does with a Job, a Barrier
// stage and ports. The others of their pipelines are the real ones.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "dag/pipeline_file/stage_type.h"
#include "dag/records/job_stage.h"

namespace pipeline {

/// What the toys did, and what they shall do.
struct ToyHand {
  std::atomic<int> learnt{0};                           // how often `learn` ran
  std::function<Status(const JobRequest&)> in_learn{};  // called by `learn` before it reads; may be empty
  bool learn_withdraws = false;                         // JobKind::withdraws of `learn`
  std::string list_path{};                              // the file that `mark` takes, where there is one
};

/// download, decompress, split, exec and write_tfds, and
///   learn (Job; keys salt, rounds, needs): the text of all records to an artifact, `model`, whose first
///     line is the salt; its facts have the number of records;
///   look (Job, takes an artifact): writes down what objects its input has;
///   mark (Transform; named input model, a file too): puts the model's first line in front of each record;
///   pick (Barrier; keys count, per): the `count` first records by text, `per` of them in a partition;
///   shelve (Sink; named input model, inherited): write_tfds, and no factory without a model.
Registry ToyRegistry(ToyHand& hand);

}  // namespace pipeline
