#include "dag/graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "base/str.h"

namespace pipeline {

namespace {

std::string_view FlowName(Flow flow) {
  switch (flow) {
    case Flow::kFiles: return "files";
    case Flow::kRecords: return "records";
    case Flow::kArtifact: return "a whole artifact";
    case Flow::kNothing: return "nothing";
  }
  return "";
}

std::string Named(const StageSpec& stage) { return StrCat("'", stage.name, "' (", stage.type->name, ")"); }

/// ": put a X stage between" for a type that makes `wanted` of `given`, else empty.
std::string Bridge(const Registry* registry, Flow given, Flow wanted) {
  if (registry == nullptr || given == Flow::kNothing) return {};
  for (const StageType& type : registry->types())
    if (type.takes == given && type.gives == wanted) return StrCat(": put a ", type.name, " stage between");
  return {};
}

/// Builds step by step; positions are those of the stages in the file until Order().
class Builder {
 public:
  Builder(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes, const Registry* registry)
      : stages_(stages), mistakes_(mistakes), registry_(registry), inputs_(stages.size(), -1) {}

  std::vector<Node> Build() {
    FindInputs();
    FindCycles();
    Order();
    for (Node& node : nodes_) Judge(node);
    return std::move(nodes_);
  }

 private:
  void FindInputs() {
    std::map<std::string_view, int> positions;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      positions.emplace(stages_[i].name, static_cast<int>(i));
      names.push_back(stages_[i].name);
    }
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const StageSpec& stage = stages_[i];
      if (stage.input.empty()) continue;
      const auto found = positions.find(stage.input);
      if (found != positions.end()) {
        inputs_[i] = found->second;
      } else {
        mistakes_.push_back(
            {stage.input_at, StrCat("stage '", stage.name, "' reads '", stage.input,
                                    "', and there is no such stage", DidYouMean(stage.input, names))});
      }
    }
  }

  /// A stage has one input, so that following it from anywhere ends at a beginning or in a circle.
  void FindCycles() {
    std::vector<int> seen_from(stages_.size(), -1);
    for (int start = 0; start < static_cast<int>(stages_.size()); ++start) {
      int at = start;
      while (at >= 0 && seen_from[Index(at)] < 0) seen_from[Index(at)] = start, at = inputs_[Index(at)];
      if (at < 0 || seen_from[Index(at)] != start) continue;
      int first = at;  // of the circle, in the order of the file
      for (int next = inputs_[Index(at)]; next != at; next = inputs_[Index(next)])
        first = std::min(first, next);
      std::string circle = stages_[Index(first)].name;
      for (int next = inputs_[Index(first)];; next = inputs_[Index(next)]) {
        circle += StrCat(" reads ", stages_[Index(next)].name);
        if (next == first) break;
      }
      mistakes_.push_back(
          {stages_[Index(first)].input_at, StrCat("stages read each other in a circle: ", circle)});
    }
  }

  /// Fills nodes_; what is in a circle, or reads from one, stays out.
  void Order() {
    std::vector<std::vector<int>> readers(stages_.size());
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      if (inputs_[Index(i)] < 0)
        ready.push(i);
      else
        readers[Index(inputs_[Index(i)])].push_back(i);
    }
    std::vector<int> place(stages_.size(), -1);  // position in the file to position in nodes_
    while (!ready.empty()) {
      const int at = ready.top();
      ready.pop();
      place[Index(at)] = static_cast<int>(nodes_.size());
      Node node;
      node.spec = &stages_[Index(at)];
      node.input = inputs_[Index(at)] < 0 ? -1 : place[Index(inputs_[Index(at)])];
      nodes_.push_back(std::move(node));
      for (int reader : readers[Index(at)]) ready.push(reader);
    }
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (place[i] < 0) continue;
      for (int reader : readers[i]) nodes_[Index(place[i])].readers.push_back(place[Index(reader)]);
    }
    known_.assign(nodes_.size(), false);
  }

  /// Flow and columns of a node whose input has been judged before.
  void Judge(Node& node) {
    const StageSpec& stage = *node.spec;
    const Node* input = node.input < 0 ? nullptr : &nodes_[Index(node.input)];
    if (stage.type == nullptr || (input != nullptr && input->spec->type == nullptr)) return;
    if (input != nullptr && !FlowFits(stage, *input->spec)) return;
    if (input == nullptr && stage.type->takes != Flow::kNothing) return;  // reported as unknown or missing
    if (input != nullptr && !known_[Index(node.input)]) return;
    node.in.splits = {"train"};
    if (input != nullptr) node.in = input->out;
    if (!ColumnsArrive(node, input) || stage.config.is_null()) return;
    node.out = node.in;
    if (stage.type->check) {
      if (const Status status = stage.type->check(stage.config, node.out); !status.ok()) {
        mistakes_.push_back({stage.at, StrCat("stage ", Named(stage), ": ", status.message())});
        return;
      }
    }
    known_[static_cast<std::size_t>(&node - nodes_.data())] = true;
  }

  bool FlowFits(const StageSpec& stage, const StageSpec& input) {
    const Flow given = input.type->gives, wanted = stage.type->takes;
    if (given == wanted && wanted != Flow::kNothing) return true;
    std::string why;
    if (wanted == Flow::kNothing)
      why = StrCat("stage ", Named(stage), " begins a pipeline and reads nothing, but has the input '",
                   input.name, "'");
    else if (given == Flow::kNothing)
      why = StrCat("stage ", Named(stage), " reads ", FlowName(wanted), ", but ", Named(input),
                   " ends a pipeline and gives nothing");
    else
      why = StrCat("stage ", Named(stage), " reads ", FlowName(wanted), ", but ", Named(input), " gives ",
                   FlowName(given), Bridge(registry_, given, wanted));
    mistakes_.push_back({stage.input_at, std::move(why)});
    return false;
  }

  bool ColumnsArrive(const Node& node, const Node* input) {
    bool arrive = true;
    for (std::string_view column : node.spec->type->reads) {
      if (node.in.columns.find(column) != node.in.columns.end()) continue;
      arrive = false;
      std::string given;
      for (const auto& [name, type] : node.in.columns) given += StrCat(given.empty() ? "only " : ", ", name);
      mistakes_.push_back(
          {node.spec->input_at, StrCat("stage ", Named(*node.spec), " reads the column '", column, "', but ",
                                       input != nullptr ? Named(*input->spec) : std::string("nothing"),
                                       " gives ", given.empty() ? "none" : given)});
    }
    return arrive;
  }

  static std::size_t Index(int position) { return static_cast<std::size_t>(position); }

  const std::vector<StageSpec>& stages_;
  std::vector<Mistake>& mistakes_;
  const Registry* registry_;
  std::vector<int> inputs_;  // by position in the file; -1: none, or unknown
  std::vector<Node> nodes_;
  std::vector<bool> known_;  // nodes whose `out` is right
};

}  // namespace

Graph Graph::Build(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes,
                   const Registry* registry) {
  Graph graph;
  graph.nodes_ = Builder(stages, mistakes, registry).Build();
  return graph;
}

int Graph::Find(std::string_view stage) const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.spec->name == stage; });
  return found == nodes_.end() ? -1 : static_cast<int>(found - nodes_.begin());
}

std::vector<int> Graph::Lineage(int node) const {
  std::vector<int> lineage;
  for (int at = node; at >= 0; at = nodes_[static_cast<std::size_t>(at)].input) lineage.push_back(at);
  std::reverse(lineage.begin(), lineage.end());
  return lineage;
}

}  // namespace pipeline
