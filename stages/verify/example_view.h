// How the tf.Examples of a format are printed (formats/tf_example.md). The base class prints any tf.Example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "formats/tf_example.h"

namespace pipeline {

/// What a trainer sees of an example that is made of ids.
struct SeenIds {
  std::uint64_t ids = 0;
  std::uint64_t characters = 0, bytes = 0;  // of their text; 0: not known
};

/// The view of one shard. `index` is the number of a record in it, from 0. One thread at a time.
class ExampleView {
 public:
  virtual ~ExampleView() = default;
  /// The example as text for people: its text, if it has nothing else. Absent: it is shown as JSON.
  virtual std::optional<std::string> LineOf(std::uint64_t index, const TfExample& example) const;
  /// Adds members that are known from elsewhere to the record.
  virtual void AddMembers(std::uint64_t, Json&) const {}
  /// The ids of an example without text: all of its longest list. Absent: it has none.
  virtual std::optional<SeenIds> IdsOf(std::uint64_t index, const TfExample& example) const;
};

/// The numbers of a feature; null: there is no such feature, or it has no numbers.
const TfInt64List* NumbersOf(const TfExample& example, std::string_view feature);

}  // namespace pipeline
