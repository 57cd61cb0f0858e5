// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/program.h"

#include <algorithm>
#include <numeric>

namespace tilewright::ascend::model {

std::string nameOf(Pipe pipe) {
  constexpr std::array<const char*, kPipes> names = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return names[static_cast<size_t>(pipe)];
}

std::string nameOf(Queue queue) {
  return (queue.agent == Agent::Cube ? "cube." : "vector.") + nameOf(queue.pipe);
}

Comparison opposite(Comparison kind) {
  switch (kind) {
  case Comparison::Equal:
    return Comparison::NotEqual;
  case Comparison::NotEqual:
    return Comparison::Equal;
  case Comparison::Less:
    return Comparison::GreaterOrEqual;
  case Comparison::LessOrEqual:
    return Comparison::Greater;
  case Comparison::Greater:
    return Comparison::LessOrEqual;
  case Comparison::GreaterOrEqual:
    return Comparison::Less;
  }
  return kind;
}

bool hasEvent(Agent agent, Pipe from, Pipe to) {
  const auto isPair = [&](Pipe a, Pipe b) {
    return (from == a && to == b) || (from == b && to == a);
  };
  if (isPair(Pipe::MTE2, Pipe::MTE3) || isPair(Pipe::S, Pipe::MTE2) || isPair(Pipe::S, Pipe::MTE3))
    return true;
  if (agent == Agent::Vector)
    return isPair(Pipe::MTE2, Pipe::V) || isPair(Pipe::MTE3, Pipe::V) || isPair(Pipe::V, Pipe::S);
  if (from == to || from == Pipe::V || to == Pipe::V || from == Pipe::S)
    return false;
  if (to == Pipe::S)
    return from == Pipe::FIX || from == Pipe::M;
  return !isPair(Pipe::M, Pipe::MTE3);
}

void Span::add(int64_t factor, const Span& other) {
  constexpr int64_t far = int64_t{1} << 61; // more than any sum comes to
  if (factor == 0)
    return;
  if (factor < 0)
    return add(-factor, {-other.high, -other.low});
  low = other.low <= -kEndless || low == -far ? -far : low + factor * other.low;
  high = other.high >= kEndless || high == far ? far : high + factor * other.high;
}

static bool holds(Comparison kind, int64_t number) {
  switch (kind) {
  case Comparison::Equal:
    return number == 0;
  case Comparison::NotEqual:
    return number != 0;
  case Comparison::Less:
    return number < 0;
  case Comparison::LessOrEqual:
    return number <= 0;
  case Comparison::Greater:
    return number > 0;
  case Comparison::GreaterOrEqual:
    return number >= 0;
  }
  return false;
}

std::optional<bool> holds(Comparison kind, int64_t low, int64_t high) {
  const bool atLow = holds(kind, low);
  // Whether a number is 0 may also differ between the ends.
  const bool isOnlyAtZero = kind == Comparison::Equal || kind == Comparison::NotEqual;
  const bool differs = atLow != holds(kind, high) || (isOnlyAtZero && low < 0 && high > 0);
  return differs && low != high ? std::nullopt : std::optional(atLow);
}

Node* Program::add(Block& block, Node* parent, NodeKind kind) {
  Node& node = nodes.emplace_back();
  node.kind = kind;
  node.id = static_cast<unsigned>(nodes.size() - 1);
  node.parent = parent;
  block.push_back(&node);
  return &node;
}

unsigned Program::addFlag(Queue from, Queue to, unsigned id, bool isCross) {
  flags.push_back({from, to, id, isCross});
  return static_cast<unsigned>(flags.size() - 1);
}

std::vector<unsigned> variablesOf(const Node& statement, const Program& program) {
  std::vector<unsigned> variables;
  for (const Access& access : statement.accesses)
    access.forEachRange([&](const Range& range) {
      for (const Term& term : range.terms)
        if (program.toldApart.contains(term.variable))
          variables.push_back(term.variable);
    });
  std::ranges::sort(variables);
  const auto [first, last] = std::ranges::unique(variables);
  variables.erase(first, last);
  return variables;
}

int assigned(const Node& assignment, int before) {
  if (!assignment.becomes.empty())
    return before >= 0 && static_cast<size_t>(before) < assignment.becomes.size()
               ? assignment.becomes[static_cast<size_t>(before)]
               : kNoValue;
  const int by = assignment.value;
  if (!assignment.isStep)
    return by;
  // Of what stands for all that is as large, less may be any.
  if (before == kNoValue || (by < 0 && before == kMostCounted))
    return kNoValue;
  return by < 0 ? std::max(before + by, kNoValue) : std::min(before + by, kMostCounted);
}

bool meetInOwnBuffer(const Node& earlier, const Node& later) {
  for (const Access& access : later.accesses)
    for (const Access& other : earlier.accesses)
      if (access.isOfPart && other.isOfPart && (access.isWrite || other.isWrite) &&
          access.memory == other.memory && access.mayShareBuffer(other))
        return true;
  return false;
}

std::vector<const Node*> loopsAround(const Node* node) {
  std::vector<const Node*> loops;
  for (const Node* outer = node->parent; outer; outer = outer->parent)
    if (outer->kind == NodeKind::Loop)
      loops.push_back(outer);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

/// The phases of several loops at once are too many.
static bool isOfFewPhases(const Term& term) {
  constexpr int64_t longestTable = 4;
  return std::ranges::count(term.others, term.loop) == std::ssize(term.others) &&
         (term.table.empty() || term.modulus <= longestTable);
}

namespace {

class Periods {
public:
  explicit Periods(const Program& program)
      : program(program), period(program.nodes.size(), 1), wanted(program.nodes.size(), 1) {}

  std::vector<int64_t> find() {
    // Which flag it is must be known; bytes may be any.
    for (const Node& node : program.nodes)
      for (const Term& term : node.sync.turns)
        term.forEachLoop([&](unsigned loop) { note(loop, term.modulus); });
    for (const Node& node : program.nodes)
      for (const Access& access : node.accesses) {
        for (const Term& term : access.terms) {
          noteTurns(term);
          if (isOfFewPhases(term))
            note(term.loop, term.shift); // what goes so far ahead takes so many flags in turn
        }
        for (const Range& dim : access.otherDims)
          std::ranges::for_each(dim.terms, [&](const Term& term) { noteTurns(term); });
      }
    if (program.hasPhasesOfBranches)
      for (const Node& node : program.nodes)
        for (const Condition& condition : node.conditions)
          std::ranges::for_each(condition.terms, [&](const Term& term) { noteTurns(term); });
    for (const Node& node : program.nodes)
      if (wanted[node.id] > period[node.id] && canBeLong(node))
        period[node.id] = wanted[node.id];
    return std::move(period);
  }

private:
  void note(unsigned loop, int64_t modulus) {
    constexpr int64_t longest = 12;
    if (loop < period.size() && modulus > 1 && std::lcm(period[loop], modulus) <= longest)
      period[loop] = std::lcm(period[loop], modulus);
  }

  void noteTurns(const Term& term) {
    if (!isOfFewPhases(term))
      return;
    note(term.loop, term.modulus);
    if (term.loop < wanted.size() && term.modulus > 1 && term.modulus <= kMostInstances)
      wanted[term.loop] = std::min(std::lcm(wanted[term.loop], term.modulus), kMostInstances + 1);
  }

  /// Of a loop with few statements, and no other one of phases around it or in it.
  bool canBeLong(const Node& loop) const {
    int64_t statements = 0;
    for (const Node* outer = loop.parent; outer; outer = outer->parent)
      if (period[outer->id] > 1)
        return false;
    for (const Node& node : program.nodes) {
      if (!isIn(node, loop))
        continue;
      if (period[node.id] > 1)
        return false;
      statements += int64_t{node.kind == NodeKind::Statement};
    }
    return wanted[loop.id] * statements <= kMostInstances;
  }

  static bool isIn(const Node& node, const Node& loop) {
    const Node* outer = node.parent;
    while (outer && outer != &loop)
      outer = outer->parent;
    return outer;
  }

  /// Of its statements, in all phases.
  static constexpr int64_t kMostInstances = 256;

  const Program& program;
  std::vector<int64_t> period;
  std::vector<int64_t> wanted; ///< what it would be, however much that is
};

} // namespace

std::vector<int64_t> periods(const Program& program) {
  return Periods(program).find();
}

bool isKnownByPeriods(const Sync& sync, const std::vector<int64_t>& periods) {
  bool isKnown = true;
  for (const Term& term : sync.turns)
    term.forEachLoop(
        [&](unsigned loop) { isKnown = isKnown && periods[loop] % term.modulus == 0; });
  return isKnown;
}

namespace {

std::string text(const std::vector<Term>& terms) {
  std::string result;
  for (const Term& term : terms) {
    std::string loop = term.loop == kNone ? "0" : "loop" + std::to_string(term.loop);
    for (const unsigned other : term.others)
      loop += " + loop" + std::to_string(other);
    for (const unsigned value : term.values)
      loop += " + value" + std::to_string(value);
    if (term.variable != kNone)
      loop = "variable " + std::to_string(term.variable);
    result += " + " + std::to_string(term.bytes) + " * ";
    if (term.modulus == 0)
      result += loop;
    else if (term.shift == 0 && term.others.empty() && term.values.empty())
      result += loop + " % " + std::to_string(term.modulus);
    else
      result +=
          "(" + loop + " + " + std::to_string(term.shift) + ") % " + std::to_string(term.modulus);
    for (const int64_t number : term.table)
      result += " " + std::to_string(number);
  }
  return result;
}

std::string text(const Program& program, const Sync& sync) {
  if (sync.kind == SyncKind::SyncAll)
    return "sync_all";
  if (sync.kind == SyncKind::BarrierAll || sync.kind == SyncKind::Meeting)
    return (sync.kind == SyncKind::Meeting ? "meeting " : "barrier_all ") + nameOf(sync.queue);
  if (sync.kind == SyncKind::Barrier)
    return "barrier " + nameOf(sync.queue);
  const Flag& flag = program.flags[sync.flag];
  std::string result = (sync.kind == SyncKind::Set ? "set " : "wait ") + nameOf(flag.from) +
                       " to " + nameOf(flag.to) + " " + std::to_string(flag.id);
  return result + text(sync.turns);
}

std::string text(const Range& range) {
  std::string result = "[" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
  if (range.rows > 1)
    result += " * " + std::to_string(range.rows) + " by " + std::to_string(range.pitch);
  return result + text(range.terms);
}

std::string text(const Access& access) {
  std::string result = (access.isWrite ? " write " : " read ") + std::to_string(access.memory) +
                       text(static_cast<const Range&>(access));
  for (const Range& dim : access.otherDims)
    result += text(dim);
  return result;
}

const char* text(Comparison kind) {
  constexpr const char* names[] = {"==", "!=", "<", "<=", ">", ">="};
  return names[static_cast<size_t>(kind)];
}

void append(const Program& program, const Block& block, unsigned depth, std::string& out) {
  const std::string indent(size_t(2) * depth, ' ');
  for (const Node* node : block) {
    for (const Sync& sync : node->before)
      out += indent + "+ " + text(program, sync) + "\n";
    out += indent + std::to_string(node->id) + ": ";
    switch (node->kind) {
    case NodeKind::Statement:
      out += nameOf(node->queue);
      for (const Access& access : node->accesses)
        out += text(access);
      break;
    case NodeKind::Sync:
      out += text(program, node->sync);
      break;
    case NodeKind::Loop:
      out += "loop " + std::to_string(node->trips);
      for (const TurnCondition& each : node->goesOn)
        out += " while variable " + std::to_string(each.variable) + " " + text(each.compares) +
               " " + std::to_string(each.value);
      if (node->goesBy != kNone)
        out += " if variable " + std::to_string(node->goesBy);
      break;
    case NodeKind::Assign:
      out += "variable " + std::to_string(node->variable) + (node->isStep ? " += " : " = ") +
             std::to_string(node->value);
      for (const int number : node->becomes)
        out += " " + std::to_string(number);
      break;
    case NodeKind::If:
      out += "if";
      if (node->variable != kNone)
        out += " variable " + std::to_string(node->variable) + " " + text(node->compares) + " " +
               std::to_string(node->value);
      break;
    }
    out += "\n";
    append(program, node->body, depth + 1, out);
    if (!node->otherwise.empty())
      out += indent + "else\n";
    append(program, node->otherwise, depth + 1, out);
    for (const Sync& sync : node->after)
      out += indent + "+ " + text(program, sync) + "\n";
  }
}

} // namespace

std::string print(const Program& program) {
  std::string out;
  append(program, program.body, 0, out);
  return out;
}

} // namespace tilewright::ascend::model
