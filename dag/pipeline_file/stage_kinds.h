// The kinds of stages: the factory of each.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "dag/pipeline_file/stage_context.h"

namespace pipeline {

class BarrierStage;
class JobStage;
class ReaderStage;
class SinkStage;
class SourceStage;
class Transform;

using SourceFactory = std::function<Result<std::unique_ptr<SourceStage>>(const StageContext&)>;
using TransformFactory = std::function<Result<std::unique_ptr<Transform>>(const StageContext&)>;
using ReaderFactory = std::function<Result<std::unique_ptr<ReaderStage>>(const StageContext&)>;
using SinkFactory = std::function<Result<std::unique_ptr<SinkStage>>(const StageContext&)>;
using BarrierFactory = std::function<Result<std::unique_ptr<BarrierStage>>(const StageContext&)>;
using JobFactory = std::function<Result<std::unique_ptr<JobStage>>(const StageContext&)>;

}  // namespace pipeline
