// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/known_elements.h"

#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// Where an element lies that is read, if that is constant.
std::optional<SmallVector<int64_t>> constantPlaceOf(tile::LoadOp load) {
  SmallVector<int64_t> place;
  for (Value index : load.getIndices()) {
    const std::optional<int64_t> at = getConstantIntValue(index);
    if (!at)
      return std::nullopt;
    place.push_back(*at);
  }
  return place;
}

/// A tile of UB that nothing has under another name.
bool isPlainTile(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  const auto type = cast<tile::BufferType>(buffer.getType());
  return alloc && !alloc.getAddress() && type.getSpace() == tile::MemorySpace::UB &&
         type.getRank() > 0 && llvm::all_of(buffer.getUsers(), [](Operation* user) {
           return isa<tile::LoadOp, tile::StoreOp, tile::FillOp, tile::CopyOp, tile::ReduceOp>(
               user);
         });
}

/// Where an element lies in a part of its tile: in all that the part can be, in none, or it isn't known.
enum class Within { Yes, No, Unknown };

class TilePart {
public:
  TilePart(const tile::BufferRegion& region, StateSpace& space, const PossibleState& state) {
    for (const auto& [offset, extent] : llvm::zip_equal(region.offsets, region.extents)) {
      offsets.push_back(rangeOf(offset, space, state));
      extents.push_back(rangeOf(extent, space, state));
    }
  }

  Within has(ArrayRef<int64_t> place) const {
    Within all = Within::Yes;
    for (const auto& [at, offset, extent] : llvm::zip_equal(place, offsets, extents)) {
      constexpr int64_t most = int64_t{1} << 40;
      if (!offset.isWithin(-most, most) || !extent.isWithin(0, most)) {
        all = Within::Unknown;
        continue;
      }
      if (at < offset.low || at >= offset.high + extent.high)
        return Within::No;
      if (at < offset.high || at >= offset.low + extent.low)
        all = Within::Unknown;
    }
    return all;
  }

  SmallVector<IndexRange> offsets, extents;

private:
  static IndexRange rangeOf(OpFoldResult number, StateSpace& space, const PossibleState& state) {
    if (const std::optional<int64_t> constant = getConstantIntValue(number))
      return {*constant, *constant};
    return space.rangeOf(state, cast<Value>(number));
  }
};

/// What a copy brings to an element that lies in its target: 0 from behind the end of a tensor; else unknown.
std::optional<IndexRange> copied(tile::CopyOp copy, const TilePart& source, const TilePart& target,
                                 ArrayRef<int64_t> place) {
  const auto type = cast<tile::BufferType>(copy.getSourceRegion().buffer.getType());
  if (type.getSpace() != tile::MemorySpace::Global || copy.getPad() || copy.getTranspose())
    return std::nullopt;
  // The extents that are not 1 correspond in order.
  const auto isOne = [](IndexRange extent) { return extent == IndexRange{1, 1}; };
  size_t dim = 0;
  for (size_t at = 0; at < place.size(); ++at) {
    if (isOne(target.extents[at]))
      continue;
    while (dim < source.extents.size() && isOne(source.extents[dim]))
      ++dim;
    if (dim == source.extents.size() || source.extents[dim] != target.extents[at] ||
        source.extents[dim].low != source.extents[dim].high)
      return std::nullopt;
    const int64_t size = type.getShape()[dim];
    if (!ShapedType::isDynamic(size) &&
        source.offsets[dim].low >= size - (place[at] - target.offsets[at].high))
      return IndexRange{0, 0};
    ++dim;
  }
  for (size_t at = 0; at < source.extents.size(); ++at) {
    const int64_t size = type.getShape()[at];
    if (isOne(source.extents[at]) && !ShapedType::isDynamic(size) && source.offsets[at].low >= size)
      return IndexRange{0, 0};
  }
  return std::nullopt;
}

} // namespace

void KnownElements::find(tile::LaunchOp launch) {
  constexpr size_t most = 64;
  std::vector<Place> open;
  launch.walk([&](tile::LoadOp load) {
    if (load->getParentOfType<tile::ParallelOp>() || load.getIndices().empty())
      return;
    if (std::optional<SmallVector<int64_t>> place = constantPlaceOf(load))
      open.push_back({load.getBuffer(), std::move(*place)});
  });
  for (size_t next = 0; next < open.size() && next < most; ++next) {
    const Place place = open[next];
    if (!isPlainTile(place.tile) || !launch->isAncestor(place.tile.getDefiningOp()))
      continue;
    space.addElement(place.tile, place.at);
    if (!llvm::is_contained(tiles, place.tile))
      tiles.push_back(place.tile);
    addSources(place, open);
  }
  for (Value tile : tiles)
    for (Operation* user : tile.getUsers()) {
      for (Operation* op = user; op != launch; op = op->getParentOp())
        if (isa<tile::ParallelOp>(op))
          user = op;
      if (auto load = dyn_cast<tile::LoadOp>(user); !load || slotOf(load))
        using_.push_back(user);
    }
  for (Value tile : tiles)
    using_.push_back(tile.getDefiningOp());
}

/// The elements that it may come from: those at its own place in a nest that writes it, or in what is copied there whole.
void KnownElements::addSources(const Place& place, std::vector<Place>& open) const {
  const auto add = [&](Value tile, SmallVector<int64_t> at) {
    const auto isIt = [&](const Place& each) { return each.tile == tile && each.at == at; };
    if (isPlainTile(tile) && llvm::none_of(open, isIt))
      open.push_back({tile, std::move(at)});
  };
  for (Operation* user : place.tile.getUsers()) {
    auto copy = dyn_cast<tile::CopyOp>(user);
    if (copy && copy.getTargetRegion().buffer == place.tile && copy.getTargetRegion().isWhole() &&
        copy.getSourceRegion().isWhole() &&
        copy.getSourceRegion().type().getShape() == copy.getTargetRegion().type().getShape())
      add(copy.getSourceRegion().buffer, place.at);
    auto store = dyn_cast<tile::StoreOp>(user);
    auto nest = store ? dyn_cast<tile::ParallelOp>(store->getParentOp()) : tile::ParallelOp();
    if (!nest)
      continue;
    DenseMap<Value, int64_t> numbers;
    for (const auto& [index, at] : llvm::zip_equal(store.getIndices(), place.at))
      if (llvm::is_contained(nest.getInductionVars(), index))
        numbers[index] = at;
    nest.walk([&](tile::LoadOp load) {
      SmallVector<int64_t> at;
      for (Value index : load.getIndices()) {
        const auto number = numbers.find(index);
        const std::optional<int64_t> constant =
            number != numbers.end() ? number->second : getConstantIntValue(index);
        if (!constant)
          return;
        at.push_back(*constant);
      }
      if (!at.empty())
        add(load.getBuffer(), std::move(at));
    });
  }
}

std::optional<unsigned> KnownElements::slotOf(tile::LoadOp load) const {
  const ArrayRef<StateSpace::Element> elements = space.elementsOf(load.getBuffer());
  const std::optional<SmallVector<int64_t>> place =
      elements.empty() ? std::nullopt : constantPlaceOf(load);
  if (!place || load->getParentOfType<tile::ParallelOp>())
    return std::nullopt;
  for (const StateSpace::Element& each : elements)
    if (each.place == *place)
      return each.slot;
  return std::nullopt;
}

SmallVector<unsigned> KnownElements::slotsOf(Operation* op) const {
  SmallVector<unsigned> slots;
  op->walk([&](Operation* inner) {
    for (Value operand : inner->getOperands())
      for (const StateSpace::Element& each : space.elementsOf(operand))
        slots.push_back(each.slot);
  });
  return slots;
}

void KnownElements::forgetAll(Value tile, PossibleState& state) {
  for (const StateSpace::Element& each : space.elementsOf(tile))
    space.forget(state, each.slot);
}

void KnownElements::run(Operation* op, PossibleState& state) {
  if (auto alloc = dyn_cast<tile::AllocOp>(op))
    return forgetAll(alloc, state);
  if (auto filled = dyn_cast<tile::FillOp>(op))
    return fill(filled, state);
  if (auto copied = dyn_cast<tile::CopyOp>(op))
    return copy(copied, state);
  if (auto reduced = dyn_cast<tile::ReduceOp>(op))
    return forgetAll(reduced.getTargetRegion().buffer, state);
  if (auto nest = dyn_cast<tile::ParallelOp>(op))
    return runNest(nest, state);
  if (auto storing = dyn_cast<tile::StoreOp>(op))
    return store(storing, state);
  for (Value operand : op->getOperands())
    forgetAll(operand, state);
}

void KnownElements::fill(tile::FillOp fill, PossibleState& state) {
  const tile::BufferRegion region = fill.getTargetRegion();
  const TilePart part(region, space, state);
  for (const StateSpace::Element& each : space.elementsOf(region.buffer)) {
    const Within within = part.has(each.place);
    if (within == Within::Yes)
      StateSpace::assign(state, each.slot, space.contentOf(state, fill.getValue()));
    else if (within == Within::Unknown)
      space.forget(state, each.slot);
  }
}

void KnownElements::copy(tile::CopyOp copy, PossibleState& state) {
  const tile::BufferRegion from = copy.getSourceRegion(), to = copy.getTargetRegion();
  const bool isWhole = from.isWhole() && to.isWhole() && !copy.getTranspose() && !copy.getRelu() &&
                       from.type().getShape() == to.type().getShape();
  const bool isAlike = from.type().getElementType() == to.type().getElementType();
  if (isWhole && !space.elementsOf(from.buffer).empty()) {
    const PossibleState before = state;
    for (const StateSpace::Element& each : space.elementsOf(to.buffer)) {
      const StateSpace::Element* of =
          llvm::find_if(space.elementsOf(from.buffer),
                        [&](const auto& other) { return other.place == each.place; });
      const bool isKnown = isAlike && of != space.elementsOf(from.buffer).end();
      StateSpace::assign(state, each.slot,
                         isKnown ? before.ranges[of->slot] : space.first().ranges[each.slot]);
    }
    return;
  }
  const TilePart source(from, space, state), target(to, space, state);
  for (const StateSpace::Element& each : space.elementsOf(to.buffer)) {
    const Within within = target.has(each.place);
    const std::optional<IndexRange> known =
        within == Within::Yes ? copied(copy, source, target, each.place) : std::nullopt;
    if (known)
      StateSpace::assign(state, each.slot, *known);
    else if (within != Within::No)
      space.forget(state, each.slot);
  }
}

void KnownElements::store(tile::StoreOp store, PossibleState& state) {
  const IndexRange content = space.contentOf(state, store.getValue());
  for (const StateSpace::Element& each : space.elementsOf(store.getBuffer())) {
    bool isIt = true, isOther = false;
    for (const auto& [index, at] : llvm::zip_equal(store.getIndices(), each.place)) {
      const IndexRange range = space.rangeOf(state, index);
      isIt &= range == IndexRange{at, at};
      isOther |= at < range.low || at > range.high;
    }
    if (isIt)
      StateSpace::assign(state, each.slot, content);
    else if (!isOther)
      space.forget(state, each.slot);
  }
}

/// All elements that a nest reads are what they were before, but those that it writes itself.
void KnownElements::runNest(tile::ParallelOp nest, PossibleState& state) {
  SmallVector<std::pair<unsigned, IndexRange>> known;
  DenseMap<Value, SmallVector<tile::StoreOp>> stores;
  DenseSet<Value> unknown;
  nest.walk([&](Operation* op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      stores[store.getBuffer()].push_back(store);
    else if (op != nest && !isa<tile::LoadOp>(op))
      unknown.insert(op->operand_begin(), op->operand_end());
  });
  for (const auto& [tile, all] : stores)
    for (const StateSpace::Element& each : space.elementsOf(tile)) {
      std::optional<IndexRange> content = state.ranges[each.slot];
      for (tile::StoreOp store : all) {
        const std::optional<IndexRange> here = stored(nest, store, each, state);
        if (!here)
          continue; // it isn't written there
        const bool isAlone = all.size() == 1 && store->getParentOp() == nest;
        content = isAlone ? *here : space.first().ranges[each.slot];
      }
      known.emplace_back(each.slot, *content);
    }
  for (const auto& [slot, content] : known)
    StateSpace::assign(state, slot, content);
  for (Value tile : unknown)
    forgetAll(tile, state);
}

/// What a nest with one store of a tile makes of an element; nothing: it stays.
std::optional<IndexRange> KnownElements::stored(tile::ParallelOp nest, tile::StoreOp store,
                                                const StateSpace::Element& element,
                                                const PossibleState& state) {
  const IndexRange all = space.first().ranges[element.slot];
  const auto extents = nest.getMixedExtents();
  bool isEach = true; // each turn that could write it is there
  for (const auto& [number, extent] : llvm::zip_equal(nest.getInductionVars(), extents)) {
    const std::optional<int64_t> fixed = getConstantIntValue(extent);
    const IndexRange length =
        fixed ? IndexRange{*fixed, *fixed} : space.rangeOf(state, cast<Value>(extent));
    space.assumed[number] = {0, std::max<int64_t>(length.high, 1) - 1};
    isEach &= length.low > 0;
  }
  const auto compare = [&](bool& isIt, bool& isOther) {
    isIt = true, isOther = false;
    for (const auto& [index, at] : llvm::zip_equal(store.getIndices(), element.place)) {
      const IndexRange range = space.rangeOf(state, index);
      isIt &= range == IndexRange{at, at};
      isOther |= at < range.low || at > range.high;
    }
  };
  bool isIt = false, isOther = false;
  compare(isIt, isOther);
  std::optional<IndexRange> content;
  if (!isOther) {
    for (const auto& [index, at] : llvm::zip_equal(store.getIndices(), element.place))
      if (const auto number = space.assumed.find(index); number != space.assumed.end()) {
        isEach &= at <= number->second.high;
        number->second = {at, at};
      }
    compare(isIt, isOther);
    // Of what the nest itself writes another turn may be done, or not.
    bool readsOthers = false;
    nest.walk([&](tile::LoadOp load) {
      if (load.getBuffer() != store.getBuffer() &&
          llvm::none_of(load.getBuffer().getUsers(), [&](Operation* user) {
            return isa<tile::StoreOp>(user) && nest->isAncestor(user);
          }))
        return;
      for (const auto& [index, at] : llvm::zip(load.getIndices(), element.place))
        readsOthers |= space.rangeOf(state, index) != IndexRange{at, at};
      readsOthers |= load.getBuffer() != store.getBuffer();
    });
    const bool isConstant = llvm::all_of(
        extents, [](OpFoldResult extent) { return getConstantIntValue(extent).has_value(); });
    content = isIt && isEach && isConstant && !readsOthers
                  ? space.contentOf(state, store.getValue())
                  : all;
  }
  space.assumed.clear();
  return content;
}

} // namespace tilewright::ascend
