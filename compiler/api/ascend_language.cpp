// SPDX-License-Identifier: Apache-2.0
#include "tilewright/ascend_language.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the language's own.
namespace tilewright::language {

using detail::allocate;
using detail::builderAt;

void Scope(std::string_view agent, const std::function<void()>& body, Where where) {
  builderAt(where).beginScope(agent);
  body();
  builderAt(where).endScope();
}

Tile alloc_L1(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return allocate(shape, dtype, "L1", name, where);
}
Tile alloc_L0A(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return allocate(shape, dtype, "L0A", name, where);
}
Tile alloc_L0B(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return allocate(shape, dtype, "L0B", name, where);
}
Tile alloc_L0C(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return allocate(shape, dtype, "L0C", name, where);
}
Tile alloc_ub(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return allocate(shape, dtype, "UB", name, where);
}
void annotate_address(const Tile& tile, int64_t bytes, Where where) {
  builderAt(where).annotateAddress(tile.buffer(), bytes);
}

void set_flag(std::string_view source, std::string_view target, const Expr& event, Where where) {
  KernelBuilder& kernel = builderAt(where);
  kernel.setFlag(source, target, event.index());
}
void wait_flag(std::string_view source, std::string_view target, const Expr& event, Where where) {
  KernelBuilder& kernel = builderAt(where);
  kernel.waitFlag(source, target, event.index());
}
void pipe_barrier(std::string_view pipe, Where where) {
  builderAt(where).pipeBarrier(pipe);
}
void barrier_all(Where where) {
  pipe_barrier("all", where);
}
void set_cross_flag(std::string_view pipe, const Expr& flag, int64_t mode, Where where) {
  KernelBuilder& kernel = builderAt(where);
  kernel.setCrossFlag(pipe, flag.index(), mode);
}
void wait_cross_flag(const Expr& flag, std::string_view pipe, Where where) {
  KernelBuilder& kernel = builderAt(where);
  kernel.waitCrossFlag(flag.index(), pipe);
}
void sync_all(Where where) {
  builderAt(where).syncAll();
}

void gemm_v0(const TileOperand& A, const TileOperand& B, const TileOperand& C,
             const GemmV0Options& options, Where where) {
  KernelBuilder& kernel = builderAt(where);
  kernel.gemm(A.operand, B.operand, C.operand, options.transpose_A, options.transpose_B,
              options.init.index());
}

namespace tile {

Source::Source(const Element& element) : argument(Buffer{}) {
  Region region = element.region();
  if (region.extents.empty())
    argument = element.load().value();
  else
    argument = std::move(region);
}

void compute(std::string_view function, const TileOperand& target,
             std::initializer_list<Source> sources, const Attributes& attributes, Where where) {
  std::vector<TileArgument> arguments;
  for (const Source& source : sources)
    arguments.push_back(source.argument);
  builderAt(where).compute(function, target.operand, arguments, attributes);
}

} // namespace tile
} // namespace tilewright::language
// NOLINTEND(readability-identifier-naming)
