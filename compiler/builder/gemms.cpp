// SPDX-License-Identifier: Apache-2.0
// Gemms: shapes, dtypes, and operands apart from the result.
#include "compiler/builder/operands.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region_overlap.h"

namespace tilewright {

using builder::BufferRecord;
using builder::Construction;
using builder::quoted;
using builder::Side;

namespace {

struct Matrix {
  Index rows, columns;
};

/// The last two extents, exchanged if transposed.
std::optional<Matrix> matrixOf(Construction& state, const Side& side, std::string_view role,
                               bool transpose) {
  const BufferRecord& record = state.record(side.buffer);
  size_t rank = side.extents.size();
  if (rank < 2) {
    state.error("gemm needs matrices, but " + std::string(role) + ", " + quoted(record.name) +
                    ", has " + std::to_string(rank) + (rank == 1 ? " dim" : " dims"),
                {state.allocatedHere(record)});
    return std::nullopt;
  }
  for (size_t dim = 0; dim + 2 < rank; ++dim) {
    if (state.isSame(side.extents[dim], int64_t{1}))
      continue;
    state.error("gemm needs matrices, but " + std::string(role) + ", " + quoted(record.name) +
                    ", has extents " + state.text(side.extents) +
                    "; those before the last two must be 1",
                {state.allocatedHere(record)});
    return std::nullopt;
  }
  Matrix matrix{side.extents[rank - 2], side.extents[rank - 1]};
  if (transpose)
    std::swap(matrix.rows, matrix.columns);
  return matrix;
}

class GemmRules {
public:
  GemmRules(Construction& state, Side& a, Side& b, Side& c) : state(state), a(a), b(b), c(c) {}

  bool check(bool transposeA, bool transposeB) {
    auto left = matrixOf(state, a, "A", transposeA);
    auto right = matrixOf(state, b, "B", transposeB);
    auto result = matrixOf(state, c, "C", false);
    if (!left || !right || !result)
      return false;
    // All three disagreements are told at once: each has its own cause.
    bool agree = checkSame("K", "A", a, left->columns, "B", b, right->rows);
    agree &= checkSame("M", "A", a, left->rows, "C", c, result->rows);
    agree &= checkSame("N", "B", b, right->columns, "C", c, result->columns);
    if (!checkDtypes() || !agree || !isApart("A", a) || !isApart("B", b))
      return false;
    Index *ofA = &a.extents.back() - 1, *ofB = &b.extents.back() - 1, *ofC = &c.extents.back() - 1;
    takeSmaller(ofA[transposeA ? 0 : 1], ofB[transposeB ? 1 : 0]);
    takeSmaller(ofA[transposeA ? 1 : 0], ofC[0]);
    takeSmaller(ofB[transposeB ? 0 : 1], ofC[1]);
    return true;
  }

private:
  Construction& state;
  Side &a, &b, &c;

  /// Of extents of which one is known in the kernel only: as in copies, what both sides have counts.
  void takeSmaller(Index& first, Index& second) {
    if (!state.isSame(first, second))
      first = second = state.indexOf(state.ir.createOrFold<mlir::arith::MinSIOp>(
          state.location(), state.indexIr(first), state.indexIr(second)));
  }

  /// Whether an operand isn't known to have elements in common with the result, under any name.
  bool isApart(const char* role, const Side& operand) {
    const BufferRecord &own = record(c), &other = record(operand);
    if (&own == &other ? !meets(operand) : !isSeenAs(operand))
      return true;
    state.error("gemm C, " + quoted(own.name) + ", has elements of " + role +
                    (own.name == other.name ? "" : ", " + quoted(other.name)) +
                    ", which would change while they are read; give it a tile of its own",
                {state.allocatedHere(own)});
    return false;
  }

  /// As views of one tile: certainly.
  bool isSeenAs(const Side& operand) {
    return npu::storageOf(record(c).ir) == npu::storageOf(record(operand).ir) &&
           llvm::is_contained({tile::Overlap::Same, tile::Overlap::Certain},
                              tile::compareParts(toRegion(state, operand), toRegion(state, c)));
  }

  bool meets(const Side& operand) {
    for (size_t dim = 0; dim < c.offsets.size(); ++dim)
      if (!meetIn(operand, dim))
        return false;
    return true;
  }

  bool meetIn(const Side& operand, size_t dim) {
    const auto number = [](const Index& index) { return std::get_if<int64_t>(&index); };
    const int64_t *first = number(operand.offsets[dim]), *second = number(c.offsets[dim]),
                  *count = number(operand.extents[dim]), *other = number(c.extents[dim]);
    if (first && second && count && other)
      return *first < *second + *other && *second < *first + *count;
    return state.isSame(operand.offsets[dim], c.offsets[dim]);
  }

  const BufferRecord& record(const Side& side) const {
    return state.record(side.buffer);
  }
  std::vector<Note> notes(const Side& first, const Side& second) const {
    return {state.allocatedHere(record(first)), state.allocatedHere(record(second))};
  }

  bool checkSame(const char* dim, const char* firstRole, const Side& first,
                 const Index& firstExtent, const char* secondRole, const Side& second,
                 const Index& secondExtent) {
    if (state.mayBeSame(firstExtent, secondExtent))
      return true;
    state.error(std::string("gemm ") + dim + " disagrees: it is " + state.text(firstExtent) +
                    " in " + firstRole + ", " + quoted(record(first).name) + ", but " +
                    state.text(secondExtent) + " in " + secondRole + ", " +
                    quoted(record(second).name),
                notes(first, second));
    return false;
  }

  /// What A and B are, and what C is: each is told, as each has its own cause.
  bool checkDtypes() {
    const Dtype left = record(a).dtype, right = record(b).dtype;
    const bool isNarrowFloat =
        left.isFloat() && right.isFloat() && left.bits() <= 8 && right.bits() <= 8;
    const bool isNarrowInteger =
        left.isInteger() && right.isInteger() && left.bits() <= 8 && right.bits() <= 8;
    bool agree = true;
    if (left != right && !isNarrowFloat && !isNarrowInteger) {
      state.typeError("gemm operands have different dtypes: A, " + quoted(record(a).name) +
                          ", is " + left.name() + " but B, " + quoted(record(b).name) + ", is " +
                          right.name(),
                      notes(a, b));
      agree = false;
    } else if (left.kind() == ScalarKind::Bool) {
      state.typeError("gemm does not multiply bools: A, " + quoted(record(a).name) + ", is bool",
                      notes(a, b));
      return false;
    }
    // Of two different ones C may be right for that which is meant.
    return (holdsSumsOf(left) || holdsSumsOf(right) || !tellResult(left)) && agree;
  }

  bool holdsSumsOf(const Dtype& operand) const {
    const Dtype result = record(c).dtype;
    if (!operand.isFloat())
      return result.isInteger() && result.bits() >= 32;
    return result.isFloat() && result.bits() >= std::min(operand.bits(), 32) && result.bits() >= 16;
  }

  /// True, for an error.
  bool tellResult(const Dtype& operand) {
    const char* needed = operand.isFloat() ? "a float dtype that is as wide" : "int32";
    state.typeError("gemm of " + operand.name() + " accumulates in " + needed + ", but C, " +
                        quoted(record(c).name) + ", is " + record(c).dtype.name(),
                    {state.allocatedHere(record(c))});
    return true;
  }
};

std::optional<tile::GemmPolicy> gemmPolicy(Construction& state, const Attributes& attributes) {
  const Attribute* given = builder::find(attributes, "policy");
  if (!given)
    return tile::GemmPolicy::Square;
  std::optional<tile::GemmPolicy> policy;
  if (const auto* number = std::get_if<int64_t>(given); number && *number >= 0 && *number <= 2)
    policy = tile::GemmPolicy(*number);
  else if (const auto* name = std::get_if<std::string>(given))
    policy = tile::symbolizeGemmPolicy(*name);
  if (!policy)
    state.error("a gemm's policy is GemmWarpPolicy.Square, FullRow or FullCol");
  return policy;
}

} // namespace

void KernelBuilder::gemm(const Operand& a, const Operand& b, const Operand& c, bool transposeA,
                         bool transposeB, Index clearAccum, const Attributes& attributes) {
  auto left = resolveSide(*state, a, "gemm A");
  auto right = resolveSide(*state, b, "gemm B");
  auto result = resolveSide(*state, c, "gemm C");
  bool isUsable = state->isUsable(clearAccum);
  auto policy = gemmPolicy(*state, attributes);
  if (!left || !right || !result || !isUsable || !policy || !state->requireTileScope("T.gemm"))
    return;
  for (const Side* side : {&*left, &*right, &*result})
    if (!builder::requireOnChip(*state, "gemm", *side))
      return;
  if (!GemmRules(*state, *left, *right, *result).check(transposeA, transposeB))
    return;
  mlir::Value clear;
  bool clearAlways = false;
  if (const auto* known = std::get_if<int64_t>(&clearAccum))
    clearAlways = *known != 0;
  else if (auto constant = constantValue(std::get<Value>(clearAccum)))
    clearAlways = *constant != 0;
  else
    clear = state->toBool(std::get<Value>(clearAccum));
  auto op = tile::GemmOp::create(state->ir, state->location(), toRegion(*state, *left),
                                 toRegion(*state, *right), toRegion(*state, *result), transposeA,
                                 transposeB, clear, clearAlways, *policy);
  annotate(*state, op, "T.gemm", attributes, {"policy"});
}

} // namespace tilewright
