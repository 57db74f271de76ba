#include "base/str.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

/// Returns the label of the edges from `node`: "files", or "records: text, split".
std::string EdgeLabel(const Node& node) {
  if (node.spec->type->gives == Flow::kArtifact) return "artifact";
  if (node.spec->type->gives != Flow::kRecords) return "files";
  std::string label = "records";
  std::string_view separator = ": ";
  for (const auto& [column, type] : node.out.columns) {
    label += StrCat(separator, column);
    separator = ", ";
  }
  return label;
}

/// Escapes `text` for double quotes of DOT.
std::string DotEscape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped.push_back('\\');
    if (c == '\n')
      escaped += "\\n";
    else
      escaped.push_back(c);
  }
  return escaped;
}

/// Escapes `text` for double quotes of Mermaid, which knows entities and no backslash.
std::string MermaidEscape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '"': escaped += "#quot;"; break;
      case '#': escaped += "#35;"; break;
      case '&': escaped += "#amp;"; break;
      case '<': escaped += "#lt;"; break;
      case '>': escaped += "#gt;"; break;
      case '\n': escaped += "<br/>"; break;
      default: escaped.push_back(c);
    }
  }
  return escaped;
}

}  // namespace

std::string ToDot(const Graph& graph, std::string_view name) {
  std::string dot = StrCat("digraph \"", DotEscape(name), "\" {\n  rankdir=LR;\n  node [shape=box];\n");
  for (const Node& node : graph.nodes()) {
    const StageSpec& stage = *node.spec;
    dot +=
        StrCat("  \"", DotEscape(stage.name), "\" [label=\"", DotEscape(stage.name), "\\n",
               DotEscape(stage.type->name), "\"", stage.type->publishes() ? ", shape=cylinder" : "", "];\n");
  }
  for (const Node& node : graph.nodes()) {
    const auto draw = [&](NodeId from, std::string_view label, std::string_view style) {
      dot += StrCat("  \"", DotEscape(graph[from].spec->name), "\" -> \"", DotEscape(node.spec->name),
                    "\" [label=\"", DotEscape(label), "\"", style, "];\n");
    };
    if (node.input) draw(*node.input, EdgeLabel(graph[*node.input]), "");
    for (const NamedInputEdge& edge : node.named_inputs)
      if (edge.node) draw(*edge.node, edge.name, ", style=dashed");
  }
  return dot + "}\n";
}

std::string ToMermaid(const Graph& graph, std::string_view name) {
  std::string title;  // a string of YAML
  for (char c : name) title += c == '\'' ? "''" : std::string(1, c == '\n' ? ' ' : c);
  std::string chart = StrCat("---\ntitle: '", title, "'\n---\nflowchart LR\n");
  // The ids are numbers, because a stage may be called `end` or `graph`, which Mermaid reserves.
  for (const NodeId id : graph.nodes().ids()) {
    const StageSpec& stage = *graph[id].spec;
    const std::string label = MermaidEscape(StrCat(stage.name, "\n", stage.type->name));
    const bool publishes = stage.type->publishes();
    chart += StrCat("  s", id.index(), publishes ? "[(\"" : "[\"", label, publishes ? "\")]" : "\"]", "\n");
  }
  for (const NodeId id : graph.nodes().ids()) {
    const Node& node = graph[id];
    const auto draw = [&](NodeId from, std::string_view arrow, std::string_view label) {
      chart +=
          StrCat("  s", from.index(), " ", arrow, "|\"", MermaidEscape(label), "\"| s", id.index(), "\n");
    };
    if (node.input) draw(*node.input, "-->", EdgeLabel(graph[*node.input]));
    for (const NamedInputEdge& edge : node.named_inputs)
      if (edge.node) draw(*edge.node, "-.->", edge.name);
  }
  return chart;
}

}  // namespace pipeline
