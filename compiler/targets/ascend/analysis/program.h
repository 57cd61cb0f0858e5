// SPDX-License-Identifier: Apache-2.0
/// What the analyses know of a kernel: statements on queues with the bytes that they touch, in
/// loops and branches, and what synchronises them. No MLIR here, so that they can be tested alone.
///
/// All agents of an AI core are in one program. The text order is that of one sequential program;
/// each agent runs its own statements of it. The two vector cores count as one agent.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright::ascend::model {

constexpr unsigned kNone = ~0u;

/// In the order of the dialect and of the host.
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX };
enum class Agent : uint8_t { Cube, Vector };
constexpr unsigned kPipes = 7;
constexpr unsigned kQueues = 2 * kPipes;

/// A pipe of an agent: works in order, but an instruction may start before the last one is done.
struct Queue {
  Agent agent = Agent::Vector;
  Pipe pipe = Pipe::S;

  unsigned index() const {
    return static_cast<unsigned>(agent) * kPipes + static_cast<unsigned>(pipe);
  }
  static Queue at(unsigned index) {
    return {static_cast<Agent>(index / kPipes), static_cast<Pipe>(index % kPipes)};
  }
  bool operator==(const Queue& other) const = default;
};

std::string nameOf(Pipe pipe);
std::string nameOf(Queue queue);

/// True if arch 2201 has the event between two pipes of one agent.
bool hasEvent(Agent agent, Pipe from, Pipe to);

/// All that a number can be. From kEndless on, no end is known.
struct Span {
  int64_t low = 0, high = 0;

  void add(int64_t factor, const Span& other);
};
constexpr int64_t kEndless = int64_t{1} << 40;

/// The remainder that is never below 0.
constexpr int64_t floorMod(int64_t number, int64_t modulus) {
  return (number % modulus + modulus) % modulus;
}

/// The quotient, rounded down.
constexpr int64_t floorDiv(int64_t number, int64_t by) {
  return number / by - (number % by != 0 && (number < 0) != (by < 0));
}

/// Adds to an offset: `bytes` times the number of the iteration of `loop` (from 0), or times that
/// number plus `shift`, modulo `modulus`. A `loop` that is no node's number is a value that never
/// changes; with a modulus it is any number, another one each time.
struct Term {
  unsigned loop = 0;
  int64_t bytes = 0;
  int64_t modulus = 0;
  int64_t shift = 0;
  /// With a modulus: loops whose numbers are added to that of `loop`.
  std::vector<unsigned> others = {};
  /// With a modulus: what counts in place of each remainder; empty: the remainder.
  std::vector<int64_t> table = {};
  /// With a modulus: values that never change, whose numbers are added, too. Then there may be no loop, and `loop` is
  /// kNone. Only offsets have such terms.
  std::vector<unsigned> values = {};
  /// With a modulus, and a `loop` that is no node's number: what this variable holds where the statement stands, plus `shift`.
  /// Where that isn't known, any number.
  unsigned variable = kNone;

  bool operator==(const Term& other) const = default;
  /// Only: it is the same in all turns.
  bool isOfValues() const {
    return loop == kNone && !values.empty();
  }
  /// With a modulus, of which `rest` is a remainder.
  int64_t ofRest(int64_t rest) const {
    return table.empty() ? rest : table[static_cast<size_t>(rest)];
  }
  /// With a modulus: the least and the greatest of these.
  Span rests() const {
    if (variable != kNone)
      return {-kEndless, kEndless};
    if (table.empty())
      return {0, modulus - 1};
    const auto [least, most] = std::ranges::minmax(table);
    return {least, most};
  }
  template <typename Visit> void forEachLoop(Visit visit) const {
    visit(loop);
    std::ranges::for_each(others, visit);
  }
};

/// Numbers of a line that a statement may touch: `rows` runs of `end - begin`, `pitch` apart.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t rows = 1, pitch = 0;
  std::vector<Term> terms;
};

constexpr unsigned kNowhere = ~0u;

/// The width of what has no known end.
constexpr int64_t kUnknownExtent = int64_t{1} << 40;

/// What a statement touches: bytes of a memory on chip, or a box of a tensor in global memory, whose
/// first dim is the range itself.
struct Access : Range {
  unsigned memory = 0; ///< accesses to different memories never meet
  unsigned number = 0; ///< among all of its statement
  bool isWrite = false;
  bool isAtomic = false; ///< a write that commutes with other atomic ones
  bool isGlobal = false;
  /// Of a tensor that both kinds of core touch, which the kernel's own flags order between them: in one core, only
  /// between pipes.
  bool isHandedOver = false;
  /// Of a flag to the other core, which may overwrite what has been read so far: it waits for that, nothing for it.
  bool isRelease = false;
  bool isBehindBarrier =
      false; ///< only after a barrier of its pipe, which the statement has inside
  bool isDoneAtBarrier = false; ///< only before one
  std::vector<Range> otherDims;
  /// Of global memory: the same in bytes from the tensor's first one on, where that is known. Parts by other dims, of a view,
  /// are compared so. On chip: that version of a buffer which it doesn't leave.
  std::optional<Range> line = std::nullopt;
  /// Its number in Program::apart; kNowhere: it isn't there.
  unsigned place = kNowhere;
  /// Of a buffer that the compiler has made for one statement of the kernel, or for what it leads between cores.
  bool isOfPart = false;
  /// The bytes of the buffer on chip, which no offset leaves, also where nothing is known of it.
  int64_t bufferBegin = 0, bufferEnd = INT64_MAX;

  /// Calls `visit` with all that says where it is.
  template <typename Visit> void forEachRange(Visit visit) const {
    visit(static_cast<const Range&>(*this));
    for (const Range& dim : otherDims)
      visit(dim);
    if (line)
      visit(*line);
  }
  bool mayShareBuffer(const Access& other) const {
    return bufferBegin < other.bufferEnd && other.bufferBegin < bufferEnd;
  }
};

/// An event id between two pipes, or a cross-core flag (then `to` is the scalar queue).
struct Flag {
  Queue from, to;
  unsigned id = 0;
  bool isCross = false;
};

/// SyncAll is where both agents meet; a Meeting stands in the text of one, who goes to the next one that
/// the other has.
enum class SyncKind : uint8_t { Set, Wait, Barrier, BarrierAll, SyncAll, Meeting };

/// Of a variable: it may be any.
constexpr int kNoValue = -1;
/// So far variables count that turns add to; what is asked of them is less.
constexpr int kMostCounted = 2;

struct Sync {
  SyncKind kind = SyncKind::BarrierAll;
  /// On which it is queued: a set on the flag's `from` (of a cross-core flag, on any pipe of that
  /// agent), a wait on its `to`. For BarrierAll and Meeting only the agent counts.
  Queue queue;
  /// Set and Wait: index in Program::flags, of the first one where turns of loops choose.
  unsigned flag = kNone;
  /// What turns add to that: each is a remainder, or what a table has for it, from 0 on, times 1.
  std::vector<Term> turns = {};
  unsigned insertion = kNone; ///< what the compiler inserted: its number
  /// Of what it inserted before this program was made: its number then.
  unsigned owner = kNone;

  /// How many flags, from `flag` on, it may be about.
  unsigned slots() const {
    int64_t most = 0;
    for (const Term& term : turns)
      most += term.rests().high;
    return static_cast<unsigned>(most + 1);
  }
};

enum class Comparison : uint8_t { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

/// What holds where that doesn't.
Comparison opposite(Comparison kind);

/// How a number compares with 0 that lies between `constant` plus the terms and `spread` above that.
struct Condition {
  Comparison kind = Comparison::Equal;
  int64_t constant = 0;
  std::vector<Term> terms;
  int64_t spread = 0;
  /// Of loops of unknown length: as the terms, but for how many iterations are still to come.
  std::vector<Term> left = {};
  /// Values that never change, which Program::values tells of.
  std::vector<Term> values = {};
};

/// What a loop asks of a variable before each turn.
struct TurnCondition {
  unsigned variable = kNone;
  Comparison compares = Comparison::NotEqual;
  int value = 0;
  /// It is asked behind what else the loop asks for, which the first turn stands for: that is never left out.
  bool isLate = false;
};

/// How far a loop's end lies from its first number, as `constant` plus the terms; 0 as a step: that isn't known.
struct Length {
  int64_t constant = 0, step = 0;
  std::vector<Term> terms;
};

/// Of all numbers from `low` to `high`; nothing where they differ in it.
std::optional<bool> holds(Comparison kind, int64_t low, int64_t high);

enum class NodeKind : uint8_t { Statement, Sync, Loop, If, Assign };

struct Node;
using Block = std::vector<Node*>;

struct Node {
  NodeKind kind = NodeKind::Statement;
  unsigned id = 0; ///< index in Program::nodes, in text order
  Node* parent = nullptr;
  /// In whose own text it stands; nothing: in that of both.
  std::optional<Agent> side = std::nullopt;
  /// Statement and Loop: the number of the kernel's statement that it is a part of, and of the turn of the
  /// loops around that, where iterations are written out.
  unsigned whole = kNone, turn = 0;
  /// Statement, where iterations are written out: that of each loop around its origin, the outermost first.
  std::vector<unsigned> turnsAround;
  // Statement
  Queue queue;
  std::vector<Access> accesses;
  bool hasBarrier() const {
    return std::ranges::any_of(accesses, [](const Access& access) {
      return access.isBehindBarrier || access.isDoneAtBarrier;
    });
  }
  /// If: what must hold, all of it, for `body` to run. Statement: for it to touch anything. Empty if that is not
  /// known.
  std::vector<Condition> conditions;
  /// If, and Loop of unknown length: something else must hold, too, of which nothing is known.
  bool asksMore = false;
  /// If: the number of what it asks, where that is the same in all iterations; other branches may ask the same.
  unsigned question = kNone;
  /// Assign: the variable that gets `value`. If: the one that is asked, if any, how it compares with `value`; that and
  /// the conditions say the same, or, with `isBoth`, both must hold.
  unsigned variable = kNone;
  int value = 0;
  /// Assign: the value is added, up to kMostCounted, which then stands for all that is as large; one below 0 is taken away.
  bool isStep = false;
  /// Assign: of a variable whose numbers are told apart, what each of these becomes, and all larger ones; of any other number
  /// nothing is known then.
  std::vector<int> becomes = {};
  /// Assign: the variable becomes what this one is that it holds.
  unsigned source = kNone;
  Comparison compares = Comparison::Equal;
  bool isBoth = false;
  /// If, and Loop of unknown length: the variable that gets 1 where `body` has run, and 0 where it hasn't. Others of its
  /// block ask for that.
  unsigned notes = kNone;
  /// Loop of unknown length: what must hold before each turn, all of it. If there is something, it is over only where that
  /// isn't so, or, with `asksMore`, where that other thing isn't.
  std::vector<TurnCondition> goesOn;
  /// Loop of unknown length: it has no turn where this variable is 0, and one where it is 1.
  unsigned goesBy = kNone;
  // Sync
  Sync sync;
  // Loop; `trips` is -1 if not known. Then `length` may say how long it is once values are known.
  int64_t trips = -1;
  /// Where `trips` isn't known: at most so many; -1 if that isn't known, either.
  int64_t mostTrips = -1;
  int64_t tripsAtMost() const {
    return trips < 0 ? mostTrips : trips;
  }
  Length length;
  /// Where they aren't: whether there is always one, and whether there is if no dim of a tensor is 0.
  bool isEntered = false, isEnteredIfNotEmpty = false;
  /// Loop and If: variables for which nothing asks behind it.
  std::vector<unsigned> forgets;
  // Loop: body. If: both branches.
  Block body, otherwise;
  /// Loop and If: not all cores of a block come through alike, so no flag between cores may be inside.
  bool isOfSomeCores = false;
  /// Nor where one kind alone reads what it asks for.
  bool isOfOneKind = false;
  /// Nor where it stands in a scope of one kind: the other one doesn't come there at all.
  bool isOfAllCores() const {
    return !isOfSomeCores && !isOfOneKind && !side;
  }
  /// What the compiler inserts around this node.
  std::vector<Sync> before, after;
  /// What the node stands for; for whoever makes the program.
  void* tag = nullptr;
  /// It stands behind a loop that the text has it in: no turn of that is its own.
  bool isOfNoTurn = false;
};

/// The least and the greatest number that a value which never changes can be, by its number, where known.
using Values = std::map<unsigned, Span>;

/// When two accesses never meet, of `loops` loops around both: bit d, when the one at depth d has gone on from one to the
/// other, and none around that; bit `loops`, in one turn of all of them.
struct Apart {
  unsigned loops = 0;
  uint64_t when = 0;
};

struct Program {
  Block body;
  std::deque<Node> nodes;
  std::vector<Flag> flags;
  /// How many variables there are; each is kNoValue at first.
  unsigned variables = 0;
  /// Variables that say which part of a tile is meant: so many numbers from 0 on are told apart; the next one stands for all
  /// that are as large.
  std::map<unsigned, int> toldApart = {};
  /// Flags that the program may use, nobody knows where.
  std::set<unsigned> reserved;
  Values values;
  /// Of accesses, by their places, the smaller first.
  std::map<std::pair<unsigned, unsigned>, Apart> apart;
  /// Whether what branches ask has a part in the phases of loops: then which way one goes is known in each phase, but
  /// there may be more phases.
  bool hasPhasesOfBranches = false;

  Node* add(Block& block, Node* parent, NodeKind kind);
  unsigned addFlag(Queue from, Queue to, unsigned id, bool isCross = false);
};

/// Those of these variables that a statement asks for, in their order.
std::vector<unsigned> variablesOf(const Node& statement, const Program& program);
/// What a variable holds behind an assignment, by what it held before, or, if there is one, its source.
int assigned(const Node& assignment, int before);
/// Whether two statements meet in a buffer that the compiler has made for a part of the kernel.
bool meetInOwnBuffer(const Node& earlier, const Node& later);
/// The loops around a node, the outermost first.
std::vector<const Node*> loopsAround(const Node* node);
/// The common multiple of what each loop's number is taken modulo: by node number, 1 for all others;
/// of what would come to more than 12 the numbers of flags count, then what stands first; unless a loop has so few statements
/// that all may count.
std::vector<int64_t> periods(const Program& program);
/// Whether the periods tell which flag a sync is about, in each turn.
bool isKnownByPeriods(const Sync& sync, const std::vector<int64_t>& periods);
/// For debugging and tests.
std::string print(const Program& program);

} // namespace tilewright::ascend::model
