#include "dag/pipeline_file/graph.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>

#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"

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

/// Returns ": put a X stage between" for a type that makes `wanted` from `given`. Empty: there is none.
std::string Bridge(const Registry* registry, Flow given, Flow wanted) {
  if (registry == nullptr || given == Flow::kNothing) return {};
  for (const StageType& type : registry->types())
    if (type.takes == given && type.gives == wanted) return StrCat(": put a ", type.name, " stage between");
  return {};
}

/// The position of a stage in the file.
using FileStageId = TypedId<struct FileStage>;

class Builder {
 public:
  Builder(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes, const Registry* registry)
      : stages_(stages), mistakes_(mistakes), registry_(registry), edges_(stages.size()) {}

  IdVector<NodeId, Node> Build() {
    FindInputs();
    FindCycles();
    Order();
    for (Node& node : nodes_) Inherit(node);
    for (const NodeId at : nodes_.ids()) {
      for (const NamedInputEdge& edge : nodes_[at].named_inputs) {
        if (!edge.node) continue;
        std::vector<NodeId>& readers = nodes_[*edge.node].named_input_readers;
        if (readers.empty() || readers.back() != at) readers.push_back(at);
      }
    }
    for (const NodeId node : nodes_.ids()) CheckNode(node);
    return std::move(nodes_);
  }

 private:
  struct FileEdge {
    NamedInputEdge edge;                 // `node` is set by Order()
    std::optional<FileStageId> made_by;  // absent: a file
  };
  /// The edges of one stage, as the file gives them.
  struct Edges {
    std::optional<FileStageId> input;  // absent: none, or unknown
    std::vector<FileEdge> named_inputs;

    /// Every stage that must come before.
    std::vector<FileStageId> before() const {
      std::vector<FileStageId> stages;
      if (input) stages.push_back(*input);
      for (const FileEdge& edge : named_inputs)
        if (edge.made_by) stages.push_back(*edge.made_by);
      return stages;
    }
  };

  const StageSpec& StageAt(FileStageId stage) const { return stages_[stage.index()]; }

  void FindInputs() {
    std::map<std::string_view, FileStageId> positions;
    std::vector<std::string_view> names;
    for (const FileStageId at : edges_.ids()) {
      positions.emplace(StageAt(at).name, at);
      names.push_back(StageAt(at).name);
    }
    const auto find = [&](const std::string& name) {
      const auto found = positions.find(name);
      return found == positions.end() ? std::nullopt : std::optional(found->second);
    };
    for (const FileStageId at : edges_.ids()) {
      const StageSpec& stage = StageAt(at);
      if (!stage.input.empty()) {
        edges_[at].input = find(stage.input);
        if (!edges_[at].input)
          mistakes_.push_back(
              {stage.input_at, StrCat("stage '", stage.name, "' reads '", stage.input,
                                      "', and there is no such stage", DidYouMean(stage.input, names))});
      }
      std::map<const NamedInput*, int> numbers;
      for (const NamedInputSpec& spec : stage.named_inputs) {
        const std::optional<FileStageId> made_by = find(spec.value);
        const std::string name = spec.named_input->many
                                     ? StrCat(spec.named_input->name, "[", numbers[spec.named_input]++, "]")
                                     : std::string(spec.named_input->name);
        if (made_by) {
          edges_[at].named_inputs.push_back({{spec.named_input, name, {}, {}}, made_by});
        } else if (spec.named_input->or_file && spec.value.find_first_of("./") != std::string::npos) {
          edges_[at].named_inputs.push_back({{spec.named_input, name, {}, spec.value}, {}});
        } else {
          mistakes_.push_back(
              {spec.at,
               StrCat("stage '", stage.name, "' takes '", spec.value, "' as its ", spec.named_input->name,
                      ", and there is no such stage", DidYouMean(spec.value, names),
                      spec.named_input->or_file ? StrCat("; a file is written ./", spec.value) : "")});
        }
      }
    }
  }

  /// Walks from each stage to the stages that it reads; an edge to a stage of the path itself closes a
  /// circle.
  void FindCycles() {
    enum class State : std::uint8_t { kNew, kOnPath, kSeen };
    IdVector<FileStageId, State> states(stages_.size(), State::kNew);
    std::vector<FileStageId> path;
    std::set<std::string> told;
    std::vector<std::vector<FileStageId>> left;  // by stage of the path: the stages still to visit
    const auto enter = [&](FileStageId at) {
      states[at] = State::kOnPath;
      path.push_back(at);
      left.push_back(edges_[at].before());
    };
    for (const FileStageId start : edges_.ids()) {
      if (states[start] == State::kNew) enter(start);
      while (!path.empty()) {
        if (left.back().empty()) {
          states[path.back()] = State::kSeen;
          path.pop_back(), left.pop_back();
          continue;
        }
        const FileStageId next = left.back().back();
        left.back().pop_back();
        if (states[next] == State::kOnPath)
          TellCircle({std::find(path.begin(), path.end(), next), path.end()}, told);
        else if (states[next] == State::kNew)
          enter(next);
      }
    }
  }

  void TellCircle(std::vector<FileStageId> cycle, std::set<std::string>& told) {
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    const FileStageId first = cycle.front(), next = cycle[1 % cycle.size()];
    std::string names = StageAt(first).name;
    for (std::size_t at = 1; at <= cycle.size(); ++at)
      names += StrCat(" reads ", StageAt(cycle[at % cycle.size()]).name);
    if (!told.insert(names).second) return;
    FilePosition at = StageAt(first).input_at;
    for (const NamedInputSpec& spec : StageAt(first).named_inputs)
      if (edges_[first].input != next && spec.value == StageAt(next).name) at = spec.at;
    mistakes_.push_back({at, StrCat("stages read each other in a circle: ", names)});
  }

  /// Fills nodes_; a stage that is in a cycle, or reads from one, stays out.
  void Order() {
    // The stages that wait for a stage, once per edge.
    IdVector<FileStageId, std::vector<FileStageId>> after(stages_.size());
    IdVector<FileStageId, std::size_t> waits_for(stages_.size());
    std::priority_queue<FileStageId, std::vector<FileStageId>, std::greater<>> ready;
    for (const FileStageId at : edges_.ids()) {
      const std::vector<FileStageId> before = edges_[at].before();
      for (const FileStageId stage : before) after[stage].push_back(at);
      waits_for[at] = before.size();
      if (before.empty()) ready.push(at);
    }
    IdVector<FileStageId, std::optional<NodeId>> nodes(stages_.size());  // absent: not in nodes_ yet
    while (!ready.empty()) {
      const FileStageId at = ready.top();
      ready.pop();
      Node node;
      node.spec = &StageAt(at);
      const Edges& edges = edges_[at];
      if (edges.input) node.input = nodes[*edges.input];
      for (const FileEdge& edge : edges.named_inputs) {
        NamedInputEdge& added = node.named_inputs.emplace_back(edge.edge);
        if (edge.made_by) added.node = nodes[*edge.made_by];
      }
      nodes[at] = nodes_.push_back(std::move(node));
      for (const FileStageId reader : after[at])
        if (--waits_for[reader] == 0) ready.push(reader);
    }
    for (const FileStageId at : edges_.ids())
      if (const std::optional<FileStageId> input = edges_[at].input; nodes[at] && input)
        nodes_[*nodes[*input]].readers.push_back(*nodes[at]);
    known_ = IdVector<NodeId, bool>(nodes_.size(), false);
  }

  /// Adds the inherited named inputs that the file leaves out; nodes before this one have theirs.
  void Inherit(Node& node) {
    if (node.spec->type == nullptr) return;
    std::vector<NamedInputEdge> all;
    for (const NamedInput& named_input : node.spec->type->named_inputs) {
      const auto here = [&named_input](const NamedInputEdge& edge) {
        return edge.named_input->name == named_input.name;
      };
      const std::size_t before = all.size();
      std::copy_if(node.named_inputs.begin(), node.named_inputs.end(), std::back_inserter(all), here);
      if (all.size() > before) continue;
      if (!named_input.inherited) continue;
      const NamedInputEdge* const nearest = NearestNamedInput(Above(node), named_input.name);
      const bool found = nearest != nullptr;
      if (found) all.push_back({&named_input, nearest->name, nearest->node, nearest->file});
      const bool wrong = std::any_of(
          node.spec->named_inputs.begin(), node.spec->named_inputs.end(),
          [&named_input](const NamedInputSpec& spec) { return spec.named_input == &named_input; });
      if (!found && !wrong && named_input.required && node.input)
        mistakes_.push_back({node.spec->at, StrCat("stage ", Named(*node.spec), ": missing key '",
                                                   named_input.name, "', and no stage before it has one")});
    }
    node.named_inputs = std::move(all);
  }

  /// Returns the stage whose records come in; the first one if there are several.
  static std::optional<NodeId> Above(const Node& node) {
    if (node.input) return node.input;
    for (const NamedInputEdge& edge : node.named_inputs)
      if (edge.named_input->takes == Flow::kRecords) return edge.node;
    return std::nullopt;
  }

  /// Returns the named input `name` of the nearest stage from `at` upstream. Null: none has it.
  const NamedInputEdge* NearestNamedInput(std::optional<NodeId> at, std::string_view name) const {
    for (; at; at = Above(nodes_[*at]))
      for (const NamedInputEdge& edge : nodes_[*at].named_inputs)
        if (edge.named_input->name == name) return &edge;
    return nullptr;
  }

  /// Checks the flow and the columns of a node whose input was checked before.
  void CheckNode(NodeId number) {
    Node& node = nodes_[number];
    const StageSpec& stage = *node.spec;
    const Node* input = node.input ? &nodes_[*node.input] : nullptr;
    const bool named_inputs_fit = stage.type == nullptr || CheckNamedInputs(node);
    if (stage.type == nullptr || (input != nullptr && input->spec->type == nullptr)) return;
    if (input != nullptr && !FlowFits(stage, *input->spec)) return;
    if (input == nullptr && stage.type->takes != Flow::kNothing) return;  // reported as unknown or missing
    if (input != nullptr && !known_[*node.input]) return;
    node.in.splits = {"train"};
    if (input != nullptr) node.in = input->out;
    if (input == nullptr && !(named_inputs_fit && ColumnsOfNamedInputs(node))) return;
    if (!ColumnsArrive(node, input) || stage.config.is_null()) return;
    node.out = node.in;
    if (const Status status = Check(node); !status.ok()) {
      mistakes_.push_back({stage.at, StrCat("stage ", Named(stage), ": ", status.message())});
      return;
    }
    known_[number] = true;
  }

  /// Runs the checks of the type; turns node.out into the schema of the records that go out.
  Status Check(Node& node) {
    const StageSpec& stage = *node.spec;
    if (stage.type->check) RETURN_IF_ERROR(stage.type->check(stage.config, node.out));
    std::vector<std::string_view> named_inputs;
    for (const NamedInputEdge& edge : node.named_inputs) {
      named_inputs.push_back(edge.named_input->name);
      RETURN_IF_ERROR(CheckPromised(node, edge));
    }
    return stage.type->check_named_inputs ? stage.type->check_named_inputs(stage.config, named_inputs)
                                          : Status();
  }

  Status CheckPromised(const Node& node, const NamedInputEdge& edge) const {
    const StageType& type = *node.spec->type;
    if (!type.check_promised || !edge.node || edge.named_input->takes != Flow::kArtifact) return {};
    if (!known_[*edge.node]) return {};
    const Node& maker = nodes_[*edge.node];
    const Promise promise = {edge.named_input->name, maker.spec->type->name, maker.spec->config, maker.in,
                             maker.spec->type->promises(maker.spec->config, maker.in)};
    return type.check_promised(node.spec->config, node.in, promise);
  }

  bool CheckNamedInputs(const Node& node) {
    bool fit = true;
    for (const NamedInputEdge& edge : node.named_inputs) {
      if (!edge.node) continue;
      const StageSpec& made_by = *nodes_[*edge.node].spec;
      if (made_by.type == nullptr || made_by.type->gives == edge.named_input->takes) continue;
      fit = false;
      for (const NamedInputSpec& spec :
           node.spec->named_inputs)  // an inherited one was reported at its own stage
        if (spec.named_input == edge.named_input && spec.value == made_by.name)
          mistakes_.push_back(
              {spec.at, StrCat("stage ", Named(*node.spec), " takes ", FlowName(edge.named_input->takes),
                               " as its ", edge.named_input->name, ", but ", Named(made_by), " gives ",
                               FlowName(made_by.type->gives))});
    }
    return fit;
  }

  /// Takes the schema of a stage without input from its named inputs for records, which must give the same.
  /// False: they differ, or one is unknown.
  bool ColumnsOfNamedInputs(Node& node) {
    const Node* first = nullptr;
    for (const NamedInputEdge& edge : node.named_inputs) {
      if (edge.named_input->takes != Flow::kRecords || !edge.node) continue;
      if (!known_[*edge.node]) return false;
      const Node& given = nodes_[*edge.node];
      if (first == nullptr) {
        first = &given;
        node.in = given.out;
      } else if (given.out != first->out) {
        mistakes_.push_back(
            {node.spec->at,
             StrCat("stage ", Named(*node.spec), " takes records with the same ",
                    "columns, splits and fields, but ", Named(*first->spec), " gives ", Columns(first->out),
                    " and ", Named(*given.spec), " gives ", Columns(given.out))});
        return false;
      } else if (!SameMakers(node, *edge.node)) {
        return false;
      }
    }
    return true;
  }

  /// Returns whether the stages before its first named input and those before `other` took the same at named
  /// inputs of the same name: ids of two tokenizers are no records of one kind.
  bool SameMakers(const Node& node, NodeId other) {
    for (std::optional<NodeId> at = Above(node); at; at = Above(nodes_[*at])) {
      for (const NamedInputEdge& edge : nodes_[*at].named_inputs) {
        if (edge.named_input->takes == Flow::kRecords) continue;
        const NamedInputEdge* const theirs = NearestNamedInput(other, edge.named_input->name);
        if (theirs == nullptr || (theirs->node == edge.node && theirs->file == edge.file)) continue;
        mistakes_.push_back(
            {node.spec->at,
             StrCat("stage ", Named(*node.spec), " takes records that were made with the same ",
                    edge.named_input->name, ", but those of ", Named(*nodes_[*Above(node)].spec), " and ",
                    Named(*nodes_[other].spec), " have different ones")});
        return false;
      }
    }
    return true;
  }

  /// "label, text; splits train, test; fields a, b"
  static std::string Columns(const Schema& schema) {
    std::string text;
    for (const auto& [name, type] : schema.columns) text += StrCat(text.empty() ? "" : ", ", name);
    const auto add = [&text](std::string_view what, const std::vector<std::string>& names) {
      for (std::size_t at = 0; at < names.size(); ++at)
        text += StrCat(at == 0 ? StrCat("; ", what, " ") : std::string(", "), names[at]);
    };
    add("splits", schema.splits);
    add("fields", schema.field_names);
    return text;
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

  const std::vector<StageSpec>& stages_;
  std::vector<Mistake>& mistakes_;
  const Registry* registry_;
  IdVector<FileStageId, Edges> edges_;  // by position in stages_
  IdVector<NodeId, Node> nodes_;
  IdVector<NodeId, bool> known_;  // nodes whose `out` is right
};

}  // namespace

Result<std::vector<std::string>> NamedInputEdge::Files() const {
  std::vector<std::string> files;
  if (node) return files;
  files.push_back(file);
  if (named_input->other_files == nullptr) return files;
  ASSIGN_OR_RETURN(const std::vector<std::string> others, named_input->other_files(file));
  files.insert(files.end(), others.begin(), others.end());
  return files;
}

Graph Graph::Build(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes,
                   const Registry* registry) {
  Graph graph;
  graph.nodes_ = Builder(stages, mistakes, registry).Build();
  return graph;
}

std::optional<NodeId> Graph::Find(std::string_view stage) const {
  for (const NodeId node : nodes_.ids())
    if (nodes_[node].spec->name == stage) return node;
  return std::nullopt;
}

std::vector<NodeId> Graph::Lineage(NodeId node) const {
  std::vector<NodeId> lineage;
  for (std::optional<NodeId> at = node; at; at = nodes_[*at].input) lineage.push_back(*at);
  std::reverse(lineage.begin(), lineage.end());
  return lineage;
}

bool Graph::MadeFrom(NodeId node, NodeId stage) const {
  if (node < stage) return false;  // the stages that it is made from come before it
  IdVector<NodeId, bool> from(nodes_.size());
  from[node] = true;
  for (std::size_t index = node.index(); index > stage.index(); --index) {
    if (!from[NodeId(index)]) continue;
    const Node& reader = nodes_[NodeId(index)];
    if (reader.input) from[*reader.input] = true;
    for (const NamedInputEdge& edge : reader.named_inputs)
      if (edge.node) from[*edge.node] = true;
  }
  return from[stage];
}

}  // namespace pipeline
