// SPDX-License-Identifier: Apache-2.0
/// Regions and indices as the rules see them: resolved, checked against their buffer, with
/// constants known.
#pragma once

#include "compiler/builder/construction.h"

namespace tilewright::builder {

/// A name as messages have it: in single quotes.
std::string quoted(std::string_view name);

/// Whether a tensor of these dims (kDynamic where one isn't known) has at most 2^57 elements, as many as can be
/// addressed; else an error.
bool hasFewElements(Construction& state, std::string_view name, llvm::ArrayRef<int64_t> dims);

/// One side of a tile operation.
struct Side {
  enum class Kind { Whole, Part, Element };
  Kind kind = Kind::Whole;
  Buffer buffer;
  std::vector<Index> offsets;
  std::vector<Index> extents; // all 1 for an element
};

/// What indices name: one element, or where a region starts (which may lie before its tensor: a halo).
enum class Names { Element, Start };

/// Checks number, dtype and, for known ones, range of indices. Negative constants count from the end, and
/// elements' indices that no value of their variables makes 0 or more, as in `A[-i - 1]`.
/// Nothing after an error.
std::optional<std::vector<Index>> resolveIndices(Construction& state, Buffer buffer,
                                                 std::span<const Index> indices,
                                                 Names names = Names::Element);

/// Checks an operand; nothing for poison and after an error. `role` is "copy source", for messages.
std::optional<Side> resolveSide(Construction& state, const Operand& operand, std::string_view role);

/// The IR's region.
tile::BufferRegion toRegion(Construction& state, const Side& side);

/// Makes the extents of two sides agree by the language's rule; false after an error.
///
/// A whole buffer has its shape, a region its extents, an element load 1 in each dim. Where both
/// sides have as many extents that aren't 1, these correspond in order and must be equal. Otherwise
/// the dims are aligned from the last one, an extent of 1 takes the other side's, and of two that
/// differ both take the larger, clipped to what on-chip buffers hold. Two whole buffers must have
/// equal shapes.
bool agreeExtents(Construction& state, std::string_view operation, Side& source, Side& target);

/// Where a dim of a load's source ends before its tensor does.
struct End {
  size_t dim;
  Index at;
};

/// Whether a side is a whole buffer, or a plane of one: of some dims a single position, of the others all.
bool isWholePlane(const Construction& state, const Side& side);

/// A part of a tensor that is loaded to a whole tile of an NPU, or to a plane of one, takes the tile's extents, and is padded
/// behind the part's ends, which are given back, as beyond the tensor. A store from a larger tile writes what the part names:
/// the rest of the tile is left out. A single row or element is such a part, if a slice names it. `isPadded`: the copy says
/// what is behind the ends, so that it may be any part of a tile.
std::vector<End> fitToTile(Construction& state, Side& source, Side& target, bool isPadded = false);

/// An integer literal that the buffer's dtype can't hold is an error: false.
bool checkLiteralFits(Construction& state, Value value, const BufferRecord& buffer);
/// Of a number that `name` takes beside a tile: besides that, it is whole if the tile holds integers.
bool checkNumberFits(Construction& state, std::string_view name, Value value,
                     const BufferRecord& tile);

/// False with an error where a memory of an Ascend core is used in a launch that isn't on one.
bool requireNpuFor(Construction& state, tile::MemorySpace space, std::string_view what);

/// False with an error unless such a copy exists on an NPU, where the launch is on one.
bool checkRoute(Construction& state, const Side& source, const Side& target);

/// False with an error where a T.Scope uses a memory of the other kind of core; of what only vector cores do, if `isOfVectors`.
bool checkAgent(Construction& state, const Side& side, bool isOfVectors = false);

/// Errors unless a tile lies on the chip, where tile operations compute.
bool requireOnChip(Construction& state, std::string_view operation, const Side& side);

/// Whether an NPU's fixed-point pipe scales this copy: int32 in L0C becomes float16.
bool isScaledStore(const Construction& state, const Side& source, const Side& target);

/// The scale that T.set_deq_scale set; null if it never did, or after an error: it isn't known here.
mlir::Value visibleScale(Construction& state);

/// The attribute `memory_order`; relaxed where absent, nothing after an error.
std::optional<tile::MemoryOrder> memoryOrder(Construction& state, const Attributes& attributes);

} // namespace tilewright::builder
