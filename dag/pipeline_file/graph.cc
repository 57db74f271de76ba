#include "dag/pipeline_file/graph.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>

#include "base/str.h"
#include "dag/pipeline_file/registry.h"

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
      : stages_(stages), mistakes_(mistakes), registry_(registry), edges_(stages.size()) {}

  std::vector<Node> Build() {
    FindInputs();
    FindCycles();
    Order();
    for (Node& node : nodes_) Inherit(node);
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      for (const NamedInputEdge& edge : nodes_[at].named_inputs) {
        if (edge.node < 0) continue;
        std::vector<int>& readers = nodes_[Index(edge.node)].named_input_readers;
        if (readers.empty() || readers.back() != static_cast<int>(at))
          readers.push_back(static_cast<int>(at));
      }
    }
    for (Node& node : nodes_) CheckNode(node);
    return std::move(nodes_);
  }

 private:
  /// Of one stage, by positions in the file.
  struct Edges {
    int input = -1;                            // -1: none, or unknown
    std::vector<NamedInputEdge> named_inputs;  // what the file gives

    /// Every stage that must come before.
    std::vector<int> before() const {
      std::vector<int> stages;
      if (input >= 0) stages.push_back(input);
      for (const NamedInputEdge& edge : named_inputs)
        if (edge.node >= 0) stages.push_back(edge.node);
      return stages;
    }
  };

  void FindInputs() {
    std::map<std::string_view, int> positions;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      positions.emplace(stages_[i].name, static_cast<int>(i));
      names.push_back(stages_[i].name);
    }
    const auto find = [&](const std::string& name) {
      const auto found = positions.find(name);
      return found == positions.end() ? -1 : found->second;
    };
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const StageSpec& stage = stages_[i];
      if (!stage.input.empty()) {
        edges_[i].input = find(stage.input);
        if (edges_[i].input < 0)
          mistakes_.push_back(
              {stage.input_at, StrCat("stage '", stage.name, "' reads '", stage.input,
                                      "', and there is no such stage", DidYouMean(stage.input, names))});
      }
      std::map<const NamedInput*, int> numbers;
      for (const NamedInputSpec& spec : stage.named_inputs) {
        const int made_by = find(spec.value);
        const std::string name = spec.named_input->many
                                     ? StrCat(spec.named_input->name, "[", numbers[spec.named_input]++, "]")
                                     : std::string(spec.named_input->name);
        if (made_by >= 0) {
          edges_[i].named_inputs.push_back({spec.named_input, name, made_by, {}});
        } else if (spec.named_input->or_file && spec.value.find_first_of("./") != std::string::npos) {
          edges_[i].named_inputs.push_back({spec.named_input, name, -1, spec.value});
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

  /// Walks from every stage to what it reads; an edge to a stage of the walk itself closes a circle.
  void FindCycles() {
    enum class State : std::uint8_t { kNew, kOnPath, kSeen };
    std::vector<State> states(stages_.size(), State::kNew);
    std::vector<int> path;
    std::set<std::string> told;
    std::vector<std::vector<int>> left;  // by stage of the path: what is still to be looked at
    const auto enter = [&](int at) {
      states[Index(at)] = State::kOnPath;
      path.push_back(at);
      left.push_back(edges_[Index(at)].before());
    };
    for (int start = 0; start < static_cast<int>(stages_.size()); ++start) {
      if (states[Index(start)] == State::kNew) enter(start);
      while (!path.empty()) {
        if (left.back().empty()) {
          states[Index(path.back())] = State::kSeen;
          path.pop_back(), left.pop_back();
          continue;
        }
        const int next = left.back().back();
        left.back().pop_back();
        if (states[Index(next)] == State::kOnPath)
          TellCircle({std::find(path.begin(), path.end(), next), path.end()}, told);
        else if (states[Index(next)] == State::kNew)
          enter(next);
      }
    }
  }

  void TellCircle(std::vector<int> cycle, std::set<std::string>& told) {
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    std::string names = stages_[Index(cycle.front())].name;
    for (std::size_t at = 1; at <= cycle.size(); ++at)
      names += StrCat(" reads ", stages_[Index(cycle[at % cycle.size()])].name);
    if (!told.insert(names).second) return;
    const int next = cycle[1 % cycle.size()];
    FilePosition at = stages_[Index(cycle.front())].input_at;
    for (const NamedInputSpec& spec : stages_[Index(cycle.front())].named_inputs)
      if (edges_[Index(cycle.front())].input != next && spec.value == stages_[Index(next)].name) at = spec.at;
    mistakes_.push_back({at, StrCat("stages read each other in a circle: ", names)});
  }

  /// Fills nodes_; what is in a cycle, or reads from one, stays out.
  void Order() {
    std::vector<std::vector<int>> after(stages_.size());  // who waits for a stage, once per edge
    std::vector<std::size_t> waits_for(stages_.size());
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < static_cast<int>(stages_.size()); ++i) {
      const std::vector<int> before = edges_[Index(i)].before();
      for (const int stage : before) after[Index(stage)].push_back(i);
      waits_for[Index(i)] = before.size();
      if (before.empty()) ready.push(i);
    }
    std::vector<int> place(stages_.size(), -1);  // position in the file to position in nodes_
    while (!ready.empty()) {
      const int at = ready.top();
      ready.pop();
      place[Index(at)] = static_cast<int>(nodes_.size());
      Node node;
      node.spec = &stages_[Index(at)];
      const Edges& edges = edges_[Index(at)];
      node.input = edges.input < 0 ? -1 : place[Index(edges.input)];
      node.named_inputs = edges.named_inputs;
      for (NamedInputEdge& edge : node.named_inputs)
        if (edge.node >= 0) edge.node = place[Index(edge.node)];
      nodes_.push_back(std::move(node));
      for (const int reader : after[Index(at)])
        if (--waits_for[Index(reader)] == 0) ready.push(reader);
    }
    for (std::size_t i = 0; i < stages_.size(); ++i)
      if (const int input = edges_[i].input; place[i] >= 0 && input >= 0)
        nodes_[Index(place[Index(input)])].readers.push_back(place[i]);
    known_.assign(nodes_.size(), false);
  }

  /// What the file leaves out at a named input that is inherited; nodes before this one have theirs.
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
      if (!found && !wrong && named_input.required && node.input >= 0)
        mistakes_.push_back({node.spec->at, StrCat("stage ", Named(*node.spec), ": missing key '",
                                                   named_input.name, "', and no stage before it has one")});
    }
    node.named_inputs = std::move(all);
  }

  /// Whose records come in: the first one where several do. -1: nobody's.
  static int Above(const Node& node) {
    if (node.input >= 0) return node.input;
    for (const NamedInputEdge& edge : node.named_inputs)
      if (edge.named_input->takes == Flow::kRecords) return edge.node;
    return -1;
  }

  /// The named input `name` of the nearest stage from `at` on upwards; null where none has it.
  const NamedInputEdge* NearestNamedInput(int at, std::string_view name) const {
    for (; at >= 0; at = Above(nodes_[Index(at)]))
      for (const NamedInputEdge& edge : nodes_[Index(at)].named_inputs)
        if (edge.named_input->name == name) return &edge;
    return nullptr;
  }

  /// Flow and columns of a node whose input was checked before.
  void CheckNode(Node& node) {
    const StageSpec& stage = *node.spec;
    const Node* input = node.input < 0 ? nullptr : &nodes_[Index(node.input)];
    const bool named_inputs_fit = stage.type == nullptr || CheckNamedInputs(node);
    if (stage.type == nullptr || (input != nullptr && input->spec->type == nullptr)) return;
    if (input != nullptr && !FlowFits(stage, *input->spec)) return;
    if (input == nullptr && stage.type->takes != Flow::kNothing) return;  // reported as unknown or missing
    if (input != nullptr && !known_[Index(node.input)]) return;
    node.in.splits = {"train"};
    if (input != nullptr) node.in = input->out;
    if (input == nullptr && !(named_inputs_fit && ColumnsOfNamedInputs(node))) return;
    if (!ColumnsArrive(node, input) || stage.config.is_null()) return;
    node.out = node.in;
    if (const Status status = Check(node); !status.ok()) {
      mistakes_.push_back({stage.at, StrCat("stage ", Named(stage), ": ", status.message())});
      return;
    }
    known_[static_cast<std::size_t>(&node - nodes_.data())] = true;
  }

  /// What its type says about its keys; turns node.out into the schema that goes out.
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
    if (!type.check_promised || edge.node < 0 || edge.named_input->takes != Flow::kArtifact) return {};
    if (!known_[Index(edge.node)]) return {};
    const Node& maker = nodes_[Index(edge.node)];
    Promise promise = {edge.named_input->name, maker.spec->type->name, maker.spec->config, maker.in,
                       Json(Json::Object{})};
    if (maker.spec->type->promises) promise.facts = maker.spec->type->promises(maker.spec->config, maker.in);
    return type.check_promised(node.spec->config, node.in, promise);
  }

  bool CheckNamedInputs(const Node& node) {
    bool fit = true;
    for (const NamedInputEdge& edge : node.named_inputs) {
      if (edge.node < 0) continue;
      const StageSpec& made_by = *nodes_[Index(edge.node)].spec;
      if (made_by.type == nullptr || made_by.type->gives == edge.named_input->takes) continue;
      fit = false;
      for (const NamedInputSpec& spec :
           node.spec->named_inputs)  // what is inherited was told where it stands
        if (spec.named_input == edge.named_input && spec.value == made_by.name)
          mistakes_.push_back(
              {spec.at, StrCat("stage ", Named(*node.spec), " takes ", FlowName(edge.named_input->takes),
                               " as its ", edge.named_input->name, ", but ", Named(made_by), " gives ",
                               FlowName(made_by.type->gives))});
    }
    return fit;
  }

  /// Of a stage without input: what its named inputs for records give, which must be the same. False where it
  /// is not, or not known.
  bool ColumnsOfNamedInputs(Node& node) {
    const Node* first = nullptr;
    for (const NamedInputEdge& edge : node.named_inputs) {
      if (edge.named_input->takes != Flow::kRecords || edge.node < 0) continue;
      if (!known_[Index(edge.node)]) return false;
      const Node& given = nodes_[Index(edge.node)];
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
      } else if (!SameMakers(node, edge.node)) {
        return false;
      }
    }
    return true;
  }

  /// Whether the lines to its first named input and to `other` took the same at named inputs of one name: ids
  /// of two tokenizers are no records of one kind.
  bool SameMakers(const Node& node, int other) {
    for (int at = Above(node); at >= 0; at = Above(nodes_[Index(at)])) {
      for (const NamedInputEdge& edge : nodes_[Index(at)].named_inputs) {
        if (edge.named_input->takes == Flow::kRecords) continue;
        const NamedInputEdge* const theirs = NearestNamedInput(other, edge.named_input->name);
        if (theirs == nullptr || (theirs->node == edge.node && theirs->file == edge.file)) continue;
        mistakes_.push_back(
            {node.spec->at,
             StrCat("stage ", Named(*node.spec), " takes records that were made with the same ",
                    edge.named_input->name, ", but those of ", Named(*nodes_[Index(Above(node))].spec),
                    " and ", Named(*nodes_[Index(other)].spec), " have another each")});
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

  static std::size_t Index(int position) { return static_cast<std::size_t>(position); }

  const std::vector<StageSpec>& stages_;
  std::vector<Mistake>& mistakes_;
  const Registry* registry_;
  std::vector<Edges> edges_;  // by position in the file
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

bool Graph::MadeFrom(int node, int stage) const {
  if (node < stage) return false;  // what it is made from comes before it
  std::vector<bool> from(nodes_.size());
  from[static_cast<std::size_t>(node)] = true;
  for (int at = node; at > stage; --at) {
    if (!from[static_cast<std::size_t>(at)]) continue;
    const Node& reader = nodes_[static_cast<std::size_t>(at)];
    if (reader.input >= 0) from[static_cast<std::size_t>(reader.input)] = true;
    for (const NamedInputEdge& edge : reader.named_inputs)
      if (edge.node >= 0) from[static_cast<std::size_t>(edge.node)] = true;
  }
  return from[static_cast<std::size_t>(stage)];
}

}  // namespace pipeline
