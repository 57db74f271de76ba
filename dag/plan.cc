#include "dag/plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "base/str.h"
#include "dag/keys.h"

namespace pipeline {

namespace {

/// "clean: config.form: "nfkc" -> "nfc"", at most three, for one line of text.
std::string Summary(const std::vector<Difference>& differences) {
  std::string text;
  for (std::size_t i = 0; i < differences.size() && i < 3; ++i)
    text += StrCat(i == 0 ? "" : "; ", ToString(differences[i]));
  if (differences.size() > 3) text += StrCat("; and ", differences.size() - 3, " more");
  return text;
}

class Planner {
 public:
  Planner(const Graph& graph, const Facts& facts, const Selection& selection)
      : graph_(graph), facts_(facts), selection_(selection) {}

  Result<Plan> Make() {
    CheckSelection();
    if (!plan_.refusals.empty()) return std::move(plan_);
    for (int node = 0; node < Nodes(); ++node) ComputeLineage(node);
    std::vector<int> demanded;
    for (int node = 0; node < Nodes(); ++node) {
      if (!IsTerminal(node)) continue;
      ASSIGN_OR_RETURN(const bool stands, Judge(node));
      if (!stands) demanded.push_back(node);
    }
    RETURN_IF_ERROR(CountReaders(demanded));
    for (const int node : demanded) RETURN_IF_ERROR(SegmentFor(node).status());
    RETURN_IF_ERROR(AddKept());
    OrderSegments();
    ApplySelection();
    CheckSources();
    return std::move(plan_);
  }

 private:
  int Nodes() const { return static_cast<int>(graph_.nodes().size()); }
  const Node& At(int node) const { return graph_.nodes()[static_cast<std::size_t>(node)]; }
  const std::string& Name(int node) const { return At(node).spec->name; }
  bool GivesRecords(int node) const { return At(node).spec->type->gives == Flow::kRecords; }
  bool Publishes(int node) const { return At(node).spec->type->is_sink(); }
  /// What a run is for: artifacts, and the ends of lines that nobody reads. `keep` is no reason to run: it
  /// says what becomes of records that are made anyway.
  bool IsTerminal(int node) const {
    return Publishes(node) || (GivesRecords(node) && At(node).readers.empty());
  }
  const Lineage& LineageOf(int node) const { return lineages_[static_cast<std::size_t>(node)]; }
  bool Has(int node, const std::string& stage) const {
    const std::vector<int> line = graph_.Lineage(node);
    return std::any_of(line.begin(), line.end(), [&](int at) { return Name(at) == stage; });
  }

  void CheckSelection() {
    std::vector<std::string_view> names;
    for (const Node& node : graph_.nodes()) names.push_back(node.spec->name);
    for (const std::string* stage :
         {&selection_.from, &selection_.only, &selection_.until, &selection_.force}) {
      if (stage->empty() || graph_.Find(*stage) >= 0) continue;
      const std::string_view nearest = NearestWord(*stage, names);
      plan_.refusals.push_back(StrCat("no stage is called '", *stage, "'",
                                      nearest.empty() ? "" : StrCat("; did you mean '", nearest, "'?")));
    }
  }

  void ComputeLineage(int node) {
    const StageSpec& spec = *At(node).spec;
    Lineage lineage;
    std::optional<Digest> input;
    if (At(node).input >= 0) {
      lineage = LineageOf(At(node).input);
      input = lineage.back().recipe;
    }
    LineageStage stage;
    stage.stage = spec.name;
    stage.type = std::string(spec.type->name);
    stage.version = spec.type->version;
    stage.config = CanonicalConfig(spec.type->keys, spec.config);
    stage.libraries = spec.type->libraries;
    if (spec.type->gives == Flow::kFiles) stage.sources = SourcesOf(spec.name, stage);
    stage.recipe = RecipeOf(stage, input);
    lineage.push_back(std::move(stage));
    lineages_.push_back(std::move(lineage));
  }

  /// The digests of the files, or what an earlier run wrote down of them when they are gone.
  std::vector<std::pair<std::string, std::string>> SourcesOf(const std::string& name,
                                                             const LineageStage& stage) {
    std::vector<std::pair<std::string, std::string>> sources;
    const auto files = facts_.files.find(name);
    if (files == facts_.files.end()) return sources;
    if (files->second.missing.ok()) {
      for (const SourceFile& file : files->second.files)
        sources.emplace_back(file.input.name, file.digest.ToHex());
      return sources;
    }
    for (const Lineage* recorded : Recorded()) {
      for (const LineageStage& old : *recorded) {
        if (old.stage != name || old.type != stage.type || old.config != stage.config) continue;
        plan_.reports.push_back(StrCat("stage '", name, "': ", files->second.missing.message(),
                                       "; going by what earlier runs wrote down of it"));
        return old.sources;
      }
    }
    return sources;
  }

  std::vector<const Lineage*> Recorded() const {
    std::vector<const Lineage*> all;
    for (const auto& [stage, published] : facts_.published)
      if (published.manifest) all.push_back(&published.manifest->lineage);
    for (const auto& [stage, lineage] : facts_.logged) all.push_back(&lineage);
    return all;
  }

  /// True when `node` is left as it is: what it should give stands, or what stands may not be touched.
  Result<bool> Judge(int node) {
    if (Publishes(node)) return JudgePublished(node);
    ASSIGN_OR_RETURN(const bool stands, Stands(node));
    if (stands) UpToDate(node, "all its partitions stand");
    return stands;
  }

  bool JudgePublished(int node) {
    const auto found = facts_.published.find(Name(node));
    if (found == facts_.published.end()) return false;
    const Facts::Published& there = found->second;
    if (there.foreign) {
      Refuse(node, StrCat(PlaceOf(node), " holds objects that pipe did not write; name another `out`"));
      return true;
    }
    if (!there.manifest || Forced(node)) return false;
    if (there.manifest->recipe() == LineageOf(node).back().recipe) {
      if (there.whole) UpToDate(node, "its manifest stands");
      return there.whole;
    }
    const std::vector<Difference> differences = Compare(there.manifest->lineage, LineageOf(node));
    const bool machine_only =
        !differences.empty() &&
        std::all_of(differences.begin(), differences.end(), [](const Difference& d) { return d.of_machine; });
    if (machine_only && !selection_.strict && there.whole) {
      plan_.reports.push_back(StrCat("stage '", Name(node), "' was made on another machine (",
                                     Summary(differences),
                                     "); it is taken as it is, --strict makes it count"));
      UpToDate(node, "its manifest stands");
      return true;
    }
    Refuse(node, StrCat(PlaceOf(node), " holds another recipe (", Summary(differences),
                        "); raise `version`, name another `out`, or replace it with --force ", Name(node)));
    return true;
  }

  /// What may not be done to the artifact of `node` matters only to a run that would do it.
  void Refuse(int node, std::string_view why) {
    for (const std::string* stage : {&selection_.from, &selection_.only, &selection_.until})
      if (!stage->empty() && !Has(node, *stage)) return;
    if (!selection_.failed.empty() && !HasFailed(Name(node))) return;
    plan_.refusals.push_back(StrCat("stage '", Name(node), "': ", why));
  }

  bool HasFailed(const std::string& stage) const {
    return std::find(selection_.failed.begin(), selection_.failed.end(), stage) != selection_.failed.end();
  }

  void UpToDate(int node, std::string why) {
    PlannedSegment segment;
    segment.node = node;
    segment.state = PlannedSegment::State::kUpToDate;
    segment.publishes = Publishes(node);
    segment.lineage = LineageOf(node);
    segment.place = PlaceOf(node);
    if (!segment.publishes) segment.directory = DirectoryOf(KeysOf(node, PieceLineage(node)));
    segment.because.push_back(std::move(why));
    plan_.segments.push_back(std::move(segment));
  }

  std::string PlaceOf(int node) const {
    return Publishes(node) ? PlaceOfStage(*At(node).spec) : std::string();
  }

  /// The lineage of what the first pass of `node` leaves: only some keys of a Sink have a say in it.
  Lineage PieceLineage(int node) const {
    Lineage lineage = LineageOf(node);
    LineageStage& last = lineage.back();
    const StageType& type = *At(node).spec->type;
    if (type.is_sink()) {
      last.type += "/pieces";
      for (Json::Object config = last.config.AsObject(); const auto& [key, value] : config)
        if (std::find(type.piece_keys.begin(), type.piece_keys.end(), key) == type.piece_keys.end())
          last.config.Remove(key);
    }
    const std::optional<Digest> input =
        lineage.size() > 1 ? std::optional(lineage[lineage.size() - 2].recipe) : std::nullopt;
    last.recipe = RecipeOf(last, input);
    return lineage;
  }

  PieceKeys KeysOf(int node, const Lineage& piece_lineage) const {
    PieceKeys keys;
    keys.stage = Name(node);
    keys.recipe = piece_lineage.back().recipe;
    const std::vector<int> line = graph_.Lineage(node);
    bool records = false;  // from the Source on
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (At(line[at]).spec->type->is_source()) {
        records = true;
        for (std::uint32_t input = 0; input < piece_lineage.front().sources.size(); ++input)
          keys.end_recipes.push_back(EndRecipe(piece_lineage[at].recipe, input));
      }
      if (records) keys.end_stages.push_back(Name(line[at]));
    }
    return keys;
  }

  static std::string DirectoryOf(const PieceKeys& keys) {
    return StrCat(keys.stage, "-", keys.recipe.ToHex().substr(0, 16));
  }

  /// True when all pieces of `node` are there, whoever made them, and no --force takes them away.
  Result<bool> Stands(int node) {
    if (Forced(node)) return false;
    if (!pieces_.contains(node)) {
      const PieceKeys keys = KeysOf(node, PieceLineage(node));
      ASSIGN_OR_RETURN(Pieces pieces, facts_.pieces(keys, DirectoryOf(keys)));
      pieces_.emplace(node, std::move(pieces));
    }
    return pieces_.at(node).complete();
  }

  /// True for the stage that --force names and all that is made from it.
  bool Forced(int node) const { return !selection_.force.empty() && Has(node, selection_.force); }

  /// How many wanted segments read each stage, as far up as anything has to run.
  Status CountReaders(const std::vector<int>& demanded) {
    std::set<std::pair<int, int>> edges;
    for (const int terminal : demanded) {
      for (int reader = terminal; At(reader).input >= 0; reader = At(reader).input) {
        ASSIGN_OR_RETURN(const bool stands, Stands(reader));
        if (stands) break;
        edges.emplace(At(reader).input, reader);
      }
    }
    for (const auto& [stage, reader] : edges) ++readers_[stage];
    return {};
  }

  /// True when a segment that has all its pieces (`complete`) or lacks some reads `node` from partition
  /// files.
  Result<bool> IsOrigin(int node, bool complete) {
    if (!GivesRecords(node)) return false;
    ASSIGN_OR_RETURN(const bool stands, Stands(node));
    // A segment that reads nothing is no reason to make anything.
    if (stands || complete) return stands;
    const auto readers = readers_.find(node);
    return At(node).spec->keep || (readers != readers_.end() && readers->second > 1);
  }

  /// The position of the segment that ends in `node`, planned on first use, after its origin.
  Result<int> SegmentFor(int node) {
    if (const auto known = by_node_.find(node); known != by_node_.end()) return known->second;
    PlannedSegment segment;
    segment.node = node;
    segment.publishes = Publishes(node);
    ASSIGN_OR_RETURN(const bool complete, Stands(node));
    for (int at = node;; at = At(at).input) {
      segment.chain.insert(segment.chain.begin(), at);
      if (At(at).spec->type->is_source()) {
        segment.files = At(at).input;
        break;
      }
      ASSIGN_OR_RETURN(const bool origin, IsOrigin(At(at).input, complete));
      if (!origin) continue;
      ASSIGN_OR_RETURN(segment.origin, SegmentFor(At(at).input));
      break;
    }
    segment.lineage = LineageOf(node);
    segment.piece_lineage = PieceLineage(node);
    segment.chain_lineage.assign(
        segment.piece_lineage.end() - static_cast<std::ptrdiff_t>(segment.chain.size()),
        segment.piece_lineage.end());
    segment.keys = KeysOf(node, segment.piece_lineage);
    segment.directory = DirectoryOf(segment.keys);
    segment.place = PlaceOf(node);
    segment.forced = !selection_.force.empty() && InChain(segment, selection_.force);
    if (auto known = pieces_.extract(node)) {
      segment.pieces = std::move(known.mapped());
    } else {
      ASSIGN_OR_RETURN(segment.pieces, facts_.pieces(segment.keys, segment.directory));
    }
    if (segment.forced)
      for (InputPieces& input : segment.pieces.inputs()) input.standing.clear();
    Explain(segment);
    const int position = static_cast<int>(plan_.segments.size());
    by_node_.emplace(node, position);
    plan_.segments.push_back(std::move(segment));
    return position;
  }

  /// What `keep` kept, for those who look after the work directory.
  Status AddKept() {
    for (int node = 0; node < Nodes(); ++node) {
      if (!At(node).spec->keep || IsTerminal(node) || by_node_.contains(node)) continue;
      ASSIGN_OR_RETURN(const bool stands, Stands(node));
      if (stands) UpToDate(node, "all its partitions stand");
    }
    return {};
  }

  /// In the order of the graph, so that origins come before their readers.
  void OrderSegments() {
    std::vector<std::size_t> order(plan_.segments.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return plan_.segments[a].node < plan_.segments[b].node; });
    std::vector<int> place(order.size());
    std::vector<PlannedSegment> ordered;
    for (const std::size_t at : order) {
      place[at] = static_cast<int>(ordered.size());
      ordered.push_back(std::move(plan_.segments[at]));
    }
    for (PlannedSegment& segment : ordered)
      if (segment.origin >= 0) segment.origin = place[static_cast<std::size_t>(segment.origin)];
    plan_.segments = std::move(ordered);
  }

  bool InChain(const PlannedSegment& segment, const std::string& stage) const {
    return std::any_of(segment.chain.begin(), segment.chain.end(),
                       [&](int at) { return Name(at) == stage; }) ||
           (segment.files >= 0 && Name(segment.files) == stage);
  }

  void Explain(PlannedSegment& segment) {
    const std::string& name = Name(segment.node);
    segment.state = PlannedSegment::State::kWanted;
    if (segment.forced) segment.because.push_back(StrCat("--force ", selection_.force));
    const auto published = facts_.published.find(name);
    if (published != facts_.published.end() && published->second.manifest) {
      segment.replaces = true;
      if (!published->second.whole)
        segment.because.push_back(
            StrCat("published object ", published->second.missing, " is gone or was changed"));
    }
    if (const auto other = facts_.elsewhere.find(name); segment.publishes && !segment.forced &&
                                                        other != facts_.elsewhere.end() &&
                                                        other->second.manifest.recipe() == segment.recipe()) {
      segment.copy_from = other->second.place;
      segment.because.push_back(StrCat("`out` is new: copied from ", other->second.place));
      return;
    }
    if (!segment.publishes && segment.pieces.complete()) {
      segment.state = PlannedSegment::State::kUpToDate;
      segment.because.push_back("all its partitions stand");
      return;
    }
    if (const auto logged = facts_.logged.find(name); logged == facts_.logged.end()) {
      if (segment.because.empty()) segment.because.push_back("it never ran");
    } else {
      for (const Difference& difference : Compare(logged->second, LineageOf(segment.node)))
        segment.because.push_back(ToString(difference));
    }
    if (segment.pieces.missing_objects() > 0)
      segment.because.push_back(
          StrCat(segment.pieces.missing_objects(), " of its intermediate objects are gone"));
    if (segment.because.empty()) segment.because.push_back("an earlier run did not finish it");
  }

  void ApplySelection() {
    std::vector<PlannedSegment>& all = plan_.segments;
    std::vector<bool> selected(all.size(), true);
    const auto contains = [&](std::size_t at, const std::string& stage) {
      return InChain(all[at], stage) || Name(all[at].node) == stage;
    };
    if (!selection_.only.empty())
      for (std::size_t at = 0; at < all.size(); ++at) selected[at] = contains(at, selection_.only);
    if (!selection_.from.empty())
      for (std::size_t at = 0; at < all.size(); ++at)
        selected[at] = contains(at, selection_.from) ||
                       (all[at].origin >= 0 && selected[static_cast<std::size_t>(all[at].origin)]);
    // Those that `end` names, and the origins that they need.
    const auto with_origins = [&](const std::function<bool(std::size_t)>& end) {
      std::vector<bool> wanted(all.size(), false);
      for (std::size_t at = all.size(); at-- > 0;) {
        wanted[at] = wanted[at] || end(at);
        if (wanted[at] && all[at].origin >= 0) wanted[static_cast<std::size_t>(all[at].origin)] = true;
      }
      for (std::size_t at = 0; at < all.size(); ++at) selected[at] = selected[at] && wanted[at];
    };
    if (!selection_.until.empty())
      with_origins([&](std::size_t at) { return contains(at, selection_.until); });
    if (!selection_.failed.empty())
      with_origins([&](std::size_t at) { return HasFailed(Name(all[at].node)); });
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (all[at].state != PlannedSegment::State::kWanted) continue;
      if (!selected[at]) {
        all[at].state = PlannedSegment::State::kNotSelected;
      } else if (all[at].origin >= 0) {
        const PlannedSegment& origin = all[static_cast<std::size_t>(all[at].origin)];
        if (origin.state == PlannedSegment::State::kNotSelected)
          plan_.refusals.push_back(
              StrCat("stage '", Name(all[at].node), "' needs the partitions of '", Name(origin.node),
                     "', which are not there and not selected; use --until or run it first"));
      }
    }
  }

  /// A source that is gone is a matter only for what has to read it.
  void CheckSources() {
    for (const PlannedSegment& segment : plan_.segments) {
      if (segment.state != PlannedSegment::State::kWanted || segment.files < 0 || !segment.copy_from.empty())
        continue;
      if (segment.pieces.complete()) continue;
      const auto files = facts_.files.find(Name(segment.files));
      if (files != facts_.files.end() && !files->second.missing.ok())
        plan_.refusals.push_back(
            StrCat("stage '", Name(segment.files), "': ", files->second.missing.message()));
    }
  }

  const Graph& graph_;
  const Facts& facts_;
  const Selection& selection_;
  Plan plan_;
  std::vector<Lineage> lineages_;  // by node
  std::map<int, int> by_node_;     // node -> segment
  std::map<int, int> readers_;     // node -> wanted readers
  std::map<int, Pieces> pieces_;   // node -> what stands of it; looked up once, for there may be 100,000
};

}  // namespace

bool Plan::nothing_to_do() const {
  return std::none_of(segments.begin(), segments.end(), [](const PlannedSegment& segment) {
    return segment.state == PlannedSegment::State::kWanted;
  });
}

std::string PlaceOfStage(const StageSpec& spec) {
  const std::string below = spec.type->place ? spec.type->place(spec.config) : std::string();
  if (below.empty()) return spec.out;
  return spec.out.ends_with('/') ? spec.out + below : StrCat(spec.out, "/", below);
}

Result<Plan> MakePlan(const Graph& graph, const Facts& facts, const Selection& selection) {
  return Planner(graph, facts, selection).Make();
}

}  // namespace pipeline
