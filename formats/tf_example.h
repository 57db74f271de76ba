// tf.train.Example: named lists of values. Wire format and rules: formats/tf_example.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace pipeline {

using TfBytesList = std::vector<std::string_view>;
using TfFloatList = std::vector<float>;
using TfInt64List = std::vector<std::int64_t>;

/// The values of one feature; monostate where a writer gave it no kind.
using TfFeature = std::variant<std::monostate, TfBytesList, TfFloatList, TfInt64List>;

/// By name. Keys and bytes refer to memory of somebody else: what was parsed, or what will be written.
using TfExample = std::map<std::string_view, TfFeature>;

/// Appends `example` in the one form that writers use.
void AppendTfExample(std::string& out, const TfExample& example);

/// The feature `name` that is one piece of UTF-8 text, without building a TfExample: what every line
/// of a corpus becomes. The same bytes as AppendTfExample.
void AppendTextExample(std::string& out, std::string_view name, std::string_view text);
/// How many bytes AppendTextExample appends.
std::size_t TextExampleSize(std::string_view name, std::string_view text);

/// kDataLoss with the offset where `bytes` are no example. The result refers to `bytes`.
Result<TfExample> ParseTfExample(std::string_view bytes);

}  // namespace pipeline
