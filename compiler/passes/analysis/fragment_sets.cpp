// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/fragment_sets.h"

#include "compiler/ir/tile.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <map>

using namespace mlir;

namespace tilewright {
namespace {

using llvm::BitVector;

constexpr unsigned kMostSets = 32, kMostConditions = 4;

bool isView(const FragmentUse& use) {
  return isa<tile::ViewOp>(use.op);
}

bool writesTo(const FragmentUse& use, size_t fragment) {
  return llvm::is_contained(use.writes, fragment);
}

bool touches(const FragmentUse& use, size_t fragment) {
  return writesTo(use, fragment) || llvm::is_contained(use.reads, fragment);
}

/// Whether the same threads, in all turns of loops, do two writes: or one, if they are the same.
bool areOfSameThreads(FragmentUses& uses, const FragmentUse& left, const FragmentUse& right,
                      size_t fragment) {
  return uses.contains(left, right, fragment) && uses.contains(right, left, fragment);
}

/// Whether each element is written by one set of threads only, and read by all of them or by some of them: then
/// the sets have a part each of one fragment.
bool isInParts(FragmentUses& uses, size_t fragment) {
  for (const FragmentUse& write : uses.uses) {
    if (!writesTo(write, fragment))
      continue;
    if (!areOfSameThreads(uses, write, write, fragment) &&
        !(write.isEach && uses.isDistinct(write, fragment)))
      return false;
    for (const FragmentUse& other : uses.uses) {
      if (&other == &write || !touches(other, fragment))
        continue;
      const bool isKnown =
          writesTo(other, fragment)
              ? areOfSameThreads(uses, write, other, fragment)
              : other.comers.contains(write.comers) || write.comers.contains(other.comers);
      if (!isKnown && !uses.areApart(write, other, fragment))
        return false;
    }
  }
  return true;
}

std::string nameOf(const FragmentUses& uses, size_t fragment) {
  tile::AllocOp alloc = uses.fragments[fragment];
  return alloc.getSymName() ? "'" + alloc.getSymName()->str() + "'" : "this fragment";
}

std::string namesOf(const FragmentUses& uses, ArrayRef<size_t> fragments) {
  std::string text;
  for (size_t fragment : fragments)
    text += (text.empty() ? "" : ", ") + nameOf(uses, fragment);
  return text;
}

/// The members of a family among some fragments.
SmallVector<size_t> membersOf(const FragmentFamily& family, ArrayRef<size_t> fragments) {
  SmallVector<size_t> members;
  for (size_t fragment : fragments)
    if (family.has(fragment))
      members.push_back(fragment);
  return members;
}

// Sets

/// Whether all uses of a fragment are by all of those who come to `use`, or by none of them.
bool isOfOneSet(FragmentUses& uses, const FragmentUse& use, size_t fragment) {
  return llvm::all_of(uses.uses, [&](const FragmentUse& other) {
    return !touches(other, fragment) || uses.contains(other, use, fragment) ||
           other.comers.isApartFrom(use.comers);
  });
}

/// The fragments that can't stay one: those of some threads, and what is made of these.
SmallVector<size_t> splitFragments(FragmentUses& uses) {
  SmallVector<size_t> found;
  for (size_t fragment = 0; fragment < uses.fragments.size(); ++fragment)
    if (isOfSomeThreads(uses, fragment) && !isInParts(uses, fragment))
      found.push_back(fragment);
  for (size_t at = 0; at < found.size(); ++at)
    for (const FragmentUse& use : uses.uses) {
      if (!touches(use, found[at]) || isOfOneSet(uses, use, found[at]))
        continue;
      for (size_t made : use.writes)
        if (!llvm::is_contained(found, made))
          found.push_back(made);
    }
  return found;
}

/// Gives each use the smallest sets that come to it. False where these would be too many.
bool findSets(FragmentFamily& family) {
  SmallVector<BitVector> classes; // of threads
  SmallVector<Condition> conditions;
  for (const FragmentUse* use : family.uses) {
    const BitVector& known = use->comers.known;
    if (classes.empty())
      classes.emplace_back(known.size(), true);
    for (size_t at = 0, end = classes.size(); at < end; ++at) {
      BitVector inside = classes[at], outside = classes[at];
      inside &= known;
      outside.reset(known);
      if (inside.none() || outside.none())
        continue;
      classes[at] = std::move(inside);
      classes.push_back(std::move(outside));
    }
    for (const Comers::Side& side : use->comers.sides)
      if (llvm::none_of(conditions,
                        [&](const Condition& known) { return known.isLike(side.condition); }))
        conditions.push_back(side.condition);
  }
  if (conditions.size() > kMostConditions || classes.size() > kMostSets)
    return false;
  family.sets.assign(family.uses.size(), {});
  SmallVector<BitVector> signatures; // of sets: the uses that they come to
  for (const BitVector& threads : classes)
    for (unsigned ways = 0; ways < 1U << conditions.size(); ++ways) {
      BitVector signature(unsigned(family.uses.size()), false);
      for (auto [number, use] : llvm::enumerate(family.uses)) {
        const bool comes =
            threads.anyCommon(use->comers.known) &&
            llvm::all_of(use->comers.sides, [&](const Comers::Side& side) {
              const auto* known = llvm::find_if(conditions, [&](const Condition& condition) {
                return condition.isLike(side.condition);
              });
              return ((ways >> (known - conditions.begin())) & 1) == unsigned(side.holds);
            });
        if (comes)
          signature.set(unsigned(number));
      }
      if (signature.any() && !llvm::is_contained(signatures, signature))
        signatures.push_back(std::move(signature));
    }
  family.count = unsigned(signatures.size());
  for (auto [number, members] : llvm::enumerate(family.sets)) {
    members.resize(family.count, false);
    for (unsigned set = 0; set < family.count; ++set)
      if (signatures[set].test(unsigned(number)))
        members.set(set);
  }
  return family.count <= kMostSets;
}

/// Whether it is known who comes to each use.
bool checkComers(FragmentUses& uses, const FragmentFamily& family,
                 std::vector<FragmentProblem>& problems) {
  const size_t before = problems.size();
  for (const FragmentUse* use : family.uses) {
    const SmallVector<size_t> written = membersOf(family, use->writes);
    if (use->isEach && !written.empty()) {
      problems.push_back({use->op, "each thread writes what is its own to fragment " +
                                       namesOf(uses, written) +
                                       ", which threads also use together; take T.alloc_local for "
                                       "what a thread has for itself, or T.alloc_shared for what "
                                       "it hands over"});
      continue;
    }
    for (size_t fragment : family.fragments)
      if (!isView(*use) && !uses.isSettled(use->comers, fragment)) {
        Operation* branch = use->op->getParentOfType<scf::IfOp>();
        problems.push_back({use->op,
                            "other threads come here in other turns of the loop, but fragment " +
                                nameOf(uses, fragment) +
                                " keeps what each of them wrote, which is not supported; let the "
                                "condition be the same in all turns, or take T.alloc_shared",
                            branch, "the branch is here"});
        break;
      }
  }
  return problems.size() == before;
}

// What is the same in several sets

/// For each fragment of a family, a number per set of threads: those with one number have the same in it.
using Sameness = std::vector<SmallVector<unsigned>>;

template <typename Key> SmallVector<unsigned> numbered(ArrayRef<Key> keys) {
  std::map<Key, unsigned> numbers;
  SmallVector<unsigned> made;
  for (const Key& key : keys)
    made.push_back(numbers.try_emplace(key, unsigned(numbers.size())).first->second);
  return made;
}

Sameness common(const Sameness& left, const Sameness& right) {
  Sameness made;
  for (auto [one, other] : llvm::zip(left, right)) {
    SmallVector<std::pair<unsigned, unsigned>> pairs;
    for (auto pair : llvm::zip(one, other))
      pairs.emplace_back(std::get<0>(pair), std::get<1>(pair));
    made.push_back(numbered(ArrayRef(pairs)));
  }
  return made;
}

class SamenessChecker {
public:
  SamenessChecker(FragmentUses& uses, const FragmentFamily& family,
                  std::vector<FragmentProblem>& problems)
      : uses(uses), family(family), problems(problems) {
    for (auto [number, use] : llvm::enumerate(family.uses))
      numbers[use->op] = number;
    for (size_t fragment : family.fragments)
      writers.push_back(writersOf(family, fragment));
  }

  void check(tile::LaunchOp launch) {
    Sameness all(family.fragments.size(), SmallVector<unsigned>(family.count, 0));
    visit(*launch.getBodyBlock(), all);
  }

private:
  void visit(Block& block, Sameness& now) {
    for (Operation& op : block) {
      if (auto found = numbers.find(&op); found != numbers.end())
        pass(found->second, now);
      else if (isa<tile::BreakOp, tile::ContinueOp>(op) && jumped)
        *jumped = jumped->empty() ? now : common(*jumped, now);
      else if (isa<scf::IfOp>(op))
        visitBranch(op, now);
      else if (isa<tile::ForOp, tile::WhileOp>(op))
        visitLoop(op, now);
    }
  }

  void visitBranch(Operation& branch, Sameness& now) {
    // Where threads take both sides, each side is of sets of its own.
    const bool isOfBoth = uses.differs(&branch);
    Sameness after;
    for (Region& region : branch.getRegions()) {
      Sameness side = now;
      Sameness& at = isOfBoth ? now : side;
      if (!region.empty())
        visit(region.front(), at);
      after = after.empty() ? at : common(after, at);
    }
    if (!isOfBoth)
      now = after;
  }

  void visitLoop(Operation& loop, Sameness& now) {
    while (true) {
      Sameness end = now, jumps;
      Sameness* outer = std::exchange(jumped, &jumps);
      for (Region& region : loop.getRegions())
        visit(region.front(), end);
      jumped = outer;
      if (!jumps.empty())
        end = common(end, jumps);
      Sameness next = common(now, end);
      if (next == now)
        return;
      now = std::move(next);
    }
  }

  void pass(size_t number, Sameness& now) {
    const FragmentUse& use = *family.uses[number];
    if (isView(use))
      return;
    const BitVector& members = family.sets[number];
    if (members.count() > 1)
      if (const auto stores = storesElsewhere(uses, family, use.op); !stores || !stores->empty())
        checkRead(use, members, stores.has_value(), now);
    SmallVector<std::vector<unsigned>> keys(family.count);
    for (unsigned set : members.set_bits())
      for (auto [position, fragment] : llvm::enumerate(family.fragments))
        if (llvm::is_contained(use.reads, fragment))
          keys[set].push_back(now[position][set]);
    for (auto [position, fragment] : llvm::enumerate(family.fragments)) {
      if (!writesTo(use, fragment))
        continue;
      const bool isWhole = uses.overwrites(use, fragment);
      SmallVector<std::vector<unsigned>> changed;
      for (unsigned set = 0; set < family.count; ++set) {
        std::vector<unsigned> key = {members.test(set)};
        if (members.test(set))
          llvm::append_range(key, keys[set]);
        if (!members.test(set) || !isWhole)
          key.push_back(now[position][set]);
        changed.push_back(std::move(key));
      }
      now[position] = numbered(ArrayRef(changed));
    }
  }

  void checkRead(const FragmentUse& use, const BitVector& members, bool isInTwo,
                 const Sameness& now) {
    if (!told.insert(use.op).second)
      return;
    const SmallVector<size_t> written = membersOf(family, use.writes);
    if (!written.empty() && !isInTwo) {
      problems.push_back(
          {use.op, "this changes fragment " + namesOf(uses, written) +
                       ", of which groups of threads have one each, and other "
                       "memory, too, which is not supported; make two of it: one that changes the "
                       "fragment, and one that changes the rest"});
      return;
    }
    for (auto [position, fragment] : llvm::enumerate(family.fragments)) {
      if (!llvm::is_contained(use.reads, fragment))
        continue;
      BitVector having = members;
      if (written.empty()) // who has never written has nothing to say
        having &= writers[position];
      std::optional<unsigned> first;
      for (unsigned set : having.set_bits()) {
        if (first.value_or(now[position][set]) != now[position][set]) {
          report(use, position);
          return;
        }
        first = now[position][set];
      }
    }
    told.erase(use.op); // it may differ in a later turn
  }

  void report(const FragmentUse& use, size_t position) {
    Operation* by = nullptr;
    for (const FragmentUse* other : family.uses)
      if (!by && writesTo(*other, family.fragments[position]) &&
          !other->comers.contains(use.comers))
        by = other->op;
    problems.push_back(
        {use.op,
         "the threads that do this together don't have the same in fragment " +
             nameOf(uses, family.fragments[position]) +
             ": it lies in their registers, and groups of them wrote their own; do it in each "
             "group's branch, or hand it over in a tile of T.alloc_shared",
         by, "one group writes it here"});
  }

  FragmentUses& uses;
  const FragmentFamily& family;
  std::vector<FragmentProblem>& problems;
  llvm::DenseMap<Operation*, size_t> numbers; ///< of the family's uses
  SmallVector<BitVector> writers;             ///< of each fragment: the sets that write it
  llvm::DenseSet<Operation*> told;
  Sameness* jumped =
      nullptr; ///< of the innermost loop: what there is where it is left, or goes on early
};

} // namespace

/// Whether one thread alone ever reads a fragment, and whatever others write there it writes, too: then it finds there
/// what it wrote itself, in all turns of loops, and what the others have nobody asks for.
static bool isOfOneThread(const FragmentUses& uses, size_t fragment) {
  BitVector readers, threads;
  for (const FragmentUse& use : uses.uses)
    if (touches(use, fragment)) {
      threads |= use.comers.known;
      if (llvm::is_contained(use.reads, fragment))
        readers |= use.comers.known;
    }
  if (threads.count() <= 1)
    return true;
  return readers.count() == 1 && llvm::all_of(uses.uses, [&](const FragmentUse& use) {
           const bool isByAll = use.comers.sides.empty() && !use.isEach;
           return !writesTo(use, fragment) ||
                  (!readers.test(use.comers.known) && (isByAll || use.comers.known.count() == 1));
         });
}

bool isOfSomeThreads(FragmentUses& uses, size_t fragment) {
  if (isOfOneThread(uses, fragment))
    return false;
  return llvm::any_of(uses.uses, [&](const FragmentUse& write) {
    return writesTo(write, fragment) && llvm::any_of(uses.uses, [&](const FragmentUse& other) {
             return touches(other, fragment) && !uses.contains(write, other, fragment);
           });
  });
}

std::vector<FragmentFamily> familiesOf(FragmentUses& uses, std::vector<FragmentProblem>& problems) {
  const SmallVector<size_t> found = splitFragments(uses);
  llvm::EquivalenceClasses<size_t> meeting;
  for (size_t fragment : found)
    meeting.insert(fragment);
  for (const FragmentUse& use : uses.uses) {
    std::optional<size_t> first;
    for (size_t fragment : found)
      if (touches(use, fragment))
        meeting.unionSets(first ? *first : *(first = fragment), fragment);
  }
  std::vector<FragmentFamily> families;
  for (size_t fragment : found) {
    if (meeting.getLeaderValue(fragment) != fragment)
      continue;
    FragmentFamily family;
    for (size_t member : found)
      if (meeting.isEquivalent(member, fragment))
        family.fragments.push_back(member);
    for (const FragmentUse& use : uses.uses) {
      const auto viewed = isView(use) ? uses.numberOf(use.op->getOperand(0)) : std::nullopt;
      if (viewed ? family.has(*viewed) : llvm::any_of(family.fragments, [&](size_t member) {
            return touches(use, member);
          }))
        family.uses.push_back(&use);
    }
    if (!checkComers(uses, family, problems))
      continue;
    if (!findSets(family)) {
      problems.push_back({uses.fragments[family.fragments.front()],
                          "more than " + std::to_string(kMostSets) + " groups of threads, or " +
                              std::to_string(kMostConditions) +
                              " conditions that only the run knows, have fragment " +
                              nameOf(uses, family.fragments.front()) +
                              " each for themselves, which is not supported; take a fragment for "
                              "each group, or T.alloc_shared"});
      continue;
    }
    families.push_back(std::move(family));
  }
  return families;
}

BitVector writersOf(const FragmentFamily& family, size_t fragment) {
  BitVector writers(family.count, false);
  for (auto [use, members] : llvm::zip(family.uses, family.sets))
    if (writesTo(*use, fragment))
      writers |= members;
  return writers;
}

std::optional<SmallVector<Operation*>>
storesElsewhere(const FragmentUses& uses, const FragmentFamily& family, Operation* op) {
  SmallVector<Operation*> stores;
  if (op->getNumResults() != 0)
    return std::nullopt;
  auto isInside = [&](Value buffer) { // memory that is made in the op itself, or of the family
    auto made = rootBuffer(buffer).getDefiningOp<tile::AllocOp>();
    const auto number = uses.numberOf(buffer);
    return (made && op->isProperAncestor(made)) || (number && family.has(*number));
  };
  llvm::DenseSet<Value> read, written;
  const WalkResult walked = op->walk([&](Operation* inner) {
    auto touching = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!touching && !inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
        !inner->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::interrupt();
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (touching)
      touching.getEffects(effects);
    for (const MemoryEffects::EffectInstance& effect : effects) {
      const Value buffer = effect.getValue();
      if (buffer && isInside(buffer))
        continue;
      const bool isWrite = isa<MemoryEffects::Write>(effect.getEffect());
      if (isWrite && !(isa<tile::StoreOp>(inner) && inner != op))
        return WalkResult::interrupt();
      if (isWrite)
        stores.push_back(inner);
      if (buffer)
        (isWrite ? written : read).insert(rootBuffer(buffer));
    }
    return WalkResult::advance();
  });
  const bool readsOwn = llvm::any_of(written, [&](Value buffer) { return read.contains(buffer); });
  return walked.wasInterrupted() || readsOwn ? std::nullopt : std::optional(stores);
}

void checkFamily(FragmentUses& uses, const FragmentFamily& family, tile::LaunchOp launch,
                 std::vector<FragmentProblem>& problems) {
  SamenessChecker(uses, family, problems).check(launch);
}

} // namespace tilewright
