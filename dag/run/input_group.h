// Small inputs that one thread reads one after the other: their partitions are committed and logged together.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/run/segment.h"
#include "storage/object_group.h"
#include "storage/store.h"

namespace pipeline {

/// Holds the lines of partitions and inputs until their objects are durable. One thread at a time. Its owner
/// calls Flush before it destroys it: what is held then is lost, as after a kill.
class InputGroup {
 public:
  /// Flushes on its own once it holds `most_objects`, each of which is an open file. `directory` takes the
  /// partition outputs and `work` the quarantines; both outlive the group, as does `log`.
  InputGroup(RunLog& log, Store& directory, Store& work, std::size_t most_objects);

  /// The stores whose objects the group commits.
  Store& directory() { return *directory_; }
  Store& work() { return *work_; }
  SegmentScratch& scratch() { return scratch_; }
  /// Number of objects that are held.
  std::size_t objects() const { return objects_.size(); }

  /// A partition whose objects are those from `first_object` to the last one that is held.
  struct Partition {
    UnitLine line;
    std::size_t first_object = 0;
    std::function<void()> logged;  // called once the line is durable
    /// Called instead if one of the objects could not be committed; its error stops the input.
    std::function<Status(const Status& why)> failed;
  };
  /// Holds a partition of the input that is being read. Returns an error if this input is to stop.
  Status Hold(Partition partition);
  /// Ends that input, whose `line` follows those of all its partitions. `settled` is called once with the
  /// outcome; then the line is durable, or an error says why there is none.
  void End(UnitLine line, std::function<void(Status)> settled);

  /// Commits and logs everything that is held: the objects, then the lines of the partitions, then those of
  /// the inputs. Returns the first error of the input that is still being read.
  Status Flush();

 private:
  struct Held {
    Partition partition;
    std::size_t end_object = 0;
    Status outcome;
  };
  struct Input {
    std::vector<Held> partitions;
    std::optional<UnitLine> end;  // absent: it is still being read
    std::function<void(Status)> settled;
    Status outcome;
  };

  void LogPartitions(std::vector<Input>& inputs);
  void LogEnds(std::vector<Input>& inputs);

  RunLog& log_;
  const std::size_t most_objects_;
  ObjectGroup objects_;
  const std::unique_ptr<Store> directory_;
  const std::unique_ptr<Store> work_;
  SegmentScratch scratch_;
  std::vector<Input> ended_;
  Input reading_;
};

}  // namespace pipeline
