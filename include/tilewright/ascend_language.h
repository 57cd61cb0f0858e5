// SPDX-License-Identifier: Apache-2.0
/// The language's words for an Ascend core in C++, with the names of the Python ones. They stand in a
/// kernel with `T::Kernel({n}, {.is_npu = true}, ...)`.
#pragma once

#include "tilewright/language.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the language's own.
namespace tilewright::language {

/// What only the cube core ("C") or only the vector cores ("V") of a block run.
void Scope(std::string_view agent, const std::function<void()>& body,
           Where where = Where::current());

Tile alloc_L1(const Shape& shape, Dtype dtype, std::string_view name = "",
              Where where = Where::current());
Tile alloc_L0A(const Shape& shape, Dtype dtype, std::string_view name = "",
               Where where = Where::current());
Tile alloc_L0B(const Shape& shape, Dtype dtype, std::string_view name = "",
               Where where = Where::current());
Tile alloc_L0C(const Shape& shape, Dtype dtype, std::string_view name = "",
               Where where = Where::current());
Tile alloc_ub(const Shape& shape, Dtype dtype, std::string_view name = "",
              Where where = Where::current());
/// The byte offset of an allocation in its memory.
void annotate_address(const Tile& tile, int64_t bytes, Where where = Where::current());

// Flags: pipes are s v m mte1 mte2 mte3 fix
void set_flag(std::string_view source, std::string_view target, const Expr& event,
              Where where = Where::current());
void wait_flag(std::string_view source, std::string_view target, const Expr& event,
               Where where = Where::current());
void pipe_barrier(std::string_view pipe, Where where = Where::current());
void barrier_all(Where where = Where::current());
void set_cross_flag(std::string_view pipe, const Expr& flag, int64_t mode = 2,
                    Where where = Where::current());
void wait_cross_flag(const Expr& flag, std::string_view pipe = "", Where where = Where::current());
void sync_all(Where where = Where::current());

struct GemmV0Options {
  bool transpose_A = false;
  bool transpose_B = false;
  Expr init = false;
};
/// C += op(A) op(B) from L1 to L0C, or C = op(A) op(B) where `init` is true.
void gemm_v0(const TileOperand& A, const TileOperand& B, const TileOperand& C,
             const GemmV0Options& options = {}, Where where = Where::current());

/// Functions on tiles, destination first.
namespace tile {

/// A tile, slices of one, or a scalar (an element of a tile is one).
struct Source {
  Source(const Tile& tile) : argument(tile.buffer()) {}
  Source(const Element& element);
  template <typename T>
    requires std::convertible_to<const T&, Expr>
  Source(const T& scalar) : argument(Expr(scalar).value()) {}
  TileArgument argument;
};

/// Any function of `KernelBuilder::compute`, with its attributes (`mode`, `count`, `axis`).
void compute(std::string_view function, const TileOperand& target,
             std::initializer_list<Source> sources, const Attributes& attributes = {},
             Where where = Where::current());

#define TILEWRIGHT_FUNCTION(NAME)                                                                  \
  inline void NAME(const TileOperand& dst, const Source& src, Where where = Where::current()) {    \
    compute(#NAME, dst, {src}, {}, where);                                                         \
  }
TILEWRIGHT_FUNCTION(exp)
TILEWRIGHT_FUNCTION(ln)
TILEWRIGHT_FUNCTION(abs)
TILEWRIGHT_FUNCTION(reciprocal)
TILEWRIGHT_FUNCTION(sqrt)
TILEWRIGHT_FUNCTION(rsqrt)
TILEWRIGHT_FUNCTION(relu)
TILEWRIGHT_FUNCTION(sigmoid)
TILEWRIGHT_FUNCTION(silu)
TILEWRIGHT_FUNCTION(broadcast)
#undef TILEWRIGHT_FUNCTION

#define TILEWRIGHT_FUNCTION(NAME)                                                                  \
  inline void NAME(const TileOperand& dst, const Source& src0, const Source& src1,                 \
                   Where where = Where::current()) {                                               \
    compute(#NAME, dst, {src0, src1}, {}, where);                                                  \
  }
TILEWRIGHT_FUNCTION(add)
TILEWRIGHT_FUNCTION(sub)
TILEWRIGHT_FUNCTION(mul)
TILEWRIGHT_FUNCTION(div)
TILEWRIGHT_FUNCTION(max)
TILEWRIGHT_FUNCTION(min)
TILEWRIGHT_FUNCTION(axpy)
TILEWRIGHT_FUNCTION(mul_add_dst)
TILEWRIGHT_FUNCTION(leaky_relu)
#undef TILEWRIGHT_FUNCTION

inline void compare(const TileOperand& dst, const Source& src0, const Source& src1,
                    std::string_view mode, Where where = Where::current()) {
  compute("compare", dst, {src0, src1}, {{"mode", std::string(mode)}}, where);
}
inline void select(const TileOperand& dst, const Source& mask, const Source& src0,
                   const Source& src1, std::string_view mode, Where where = Where::current()) {
  compute("select", dst, {mask, src0, src1}, {{"mode", std::string(mode)}}, where);
}
inline void cast(const TileOperand& dst, const Source& src, std::string_view mode = "CAST_NONE",
                 Where where = Where::current()) {
  compute("cast", dst, {src}, {{"mode", std::string(mode)}}, where);
}

} // namespace tile
} // namespace tilewright::language
// NOLINTEND(readability-identifier-naming)
