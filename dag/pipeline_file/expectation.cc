#include "dag/pipeline_file/expectation.h"

#include <algorithm>

#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/pipeline_file/typed_value.h"

namespace pipeline {

namespace {

bool Has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class ExpectReader {
 public:
  ExpectReader(const StageType& type, std::string_view stage, std::vector<Mistake>& mistakes)
      : type_(type), where_(StrCat(stage, ": '", kExpectKey.name, "'")), mistakes_(mistakes) {}

  std::vector<Expectation> Read(const YamlNode& node) {
    if (!IsCounted(type_)) {
      Complain(node.at, StrCat(where_, ": a stage of type ", type_.name,
                               " counts no records, so that it takes no `expect`; give it to the stage whose "
                               "records it reads, or to the stage that reads its files"));
      return {};
    }
    if (!node.is_map()) {
      Complain(node.at,
               StrCat(where_, " must be a map of metrics to [low, high], and this is ", Describe(node)));
      return {};
    }
    std::vector<std::string_view> names = NamesOf(MetricsOf(type_));
    names.push_back(kReasonsKey.name);
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == kReasonsKey.name)
        ReadReasons(entry.value);
      else if (Has(names, entry.key))
        ReadBound(entry, where_, false);
      else
        Complain(entry.key_at, StrCat(where_, ": ", UnknownMetric(entry.key, names)));
    }
    return std::move(read_);
  }

 private:
  void Complain(FilePosition at, std::string message) { mistakes_.push_back({at, std::move(message)}); }

  std::string UnknownMetric(std::string_view name, const std::vector<std::string_view>& names) const {
    if (name == kDroppedMetric.name)
      return StrCat("a stage of type ", type_.name,
                    " counts no record as dropped; `kept_ratio` says how many it gave");
    if (FindReason(type_.reasons, name) != nullptr)
      return StrCat("'", name, "' is a reason; write `reasons: {", name, ": [low, high]}`");
    return StrCat("unknown metric '", name, "'", DidYouMean(name, names));
  }

  void ReadReasons(const YamlNode& node) {
    const std::string where = StrCat(where_, ": '", kReasonsKey.name, "'");
    if (!node.is_map())
      return Complain(
          node.at, StrCat(where, " must be a map of reasons to [low, high], and this is ", Describe(node)));
    for (const YamlEntry& entry : node.entries) {
      const Reason* const reason = FindReason(type_.reasons, entry.key);
      if (reason == nullptr)
        Complain(entry.key_at, StrCat(where, ": ", UnknownReason(entry.key)));
      else if (reason->of == Reason::Of::kOther)
        Complain(entry.key_at,
                 StrCat(where, ": '", entry.key,
                        "' counts neither records nor documents that came in, and has no share of them"));
      else
        ReadBound(entry, where, true);
    }
  }

  std::string UnknownReason(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Reason* reason : ReasonsWithShare(type_)) names.push_back(reason->name);
    return StrCat("a stage of type ", type_.name, " never counts '", name, "'",
                  names.empty() ? std::string(", or any other reason") : DidYouMean(name, names));
  }

  void ReadBound(const YamlEntry& entry, const std::string& where, bool is_reason) {
    const std::string what = StrCat(where, ": '", entry.key, "'");
    const YamlNode& pair = entry.value;
    if (!pair.is_list() || pair.items.size() != 2) {
      if (!pair.broken)
        Complain(pair.at, StrCat(what, " must be [low, high], and this is ",
                                 pair.is_list() ? "a list of another length" : Describe(pair)));
      return;
    }
    const bool is_size = !is_reason && entry.key == "bytes";
    const ConfigKey key = {entry.key, is_size ? ValueType::kBytes : ValueType::kNumber, "", ""};
    const auto low = ReadValue(key, pair.items[0], what, mistakes_);
    const auto high = ReadValue(key, pair.items[1], what, mistakes_);
    if (!low || !high) return;
    const Expectation bound{entry.key, low->AsDouble(), high->AsDouble(), is_reason};
    if (!(bound.low >= 0 && bound.low <= bound.high))
      return Complain(pair.at, StrCat(what, " must have bounds that are not negative, the lower one first"));
    if ((is_reason || entry.key == kDroppedMetric.name) && bound.low > 1)
      return Complain(pair.at, StrCat(what, " is a share, from 0 to 1"));
    read_.push_back(bound);
  }

  const StageType& type_;
  const std::string where_;
  std::vector<Mistake>& mistakes_;
  std::vector<Expectation> read_;
};

}  // namespace

bool IsCounted(const StageType& type) { return type.job() == nullptr && type.file_list() == nullptr; }

std::vector<FileKey> MetricsOf(const StageType& type) {
  std::vector<FileKey> metrics(kMetrics.begin(), kMetrics.end());
  if (std::any_of(type.reasons.begin(), type.reasons.end(),
                  [](const Reason& reason) { return reason.fate == Reason::Fate::kDropped; }))
    metrics.push_back(kDroppedMetric);
  for (const Metric& metric : type.metrics) metrics.push_back({metric.name, false, metric.help});
  return metrics;
}

std::vector<const Reason*> ReasonsWithShare(const StageType& type) {
  std::vector<const Reason*> reasons;
  for (const Reason& reason : type.reasons)
    if (reason.of != Reason::Of::kOther) reasons.push_back(&reason);
  return reasons;
}

std::vector<Expectation> ReadExpectations(const YamlNode& node, const StageType& type, std::string_view stage,
                                          std::vector<Mistake>& mistakes) {
  return ExpectReader(type, stage, mistakes).Read(node);
}

}  // namespace pipeline
