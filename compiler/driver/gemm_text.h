// SPDX-License-Identifier: Apache-2.0
/// For tests: the fused GEMM as tile IR text, of any size.
#pragma once

#include <string>

namespace tilewright {

/// Rows, columns and depth of a product, or of one block.
struct Shape {
  int m, n, k;
};

/// C = max(scale * (A @ B), 0) in blocks; A [m, k] and B [k, n] have elements of type `in`, C of
/// type `out`.
inline std::string gemmText(Shape shape, Shape block, const std::string& in,
                            const std::string& out) {
  auto dims = [](int rows, int columns, const std::string& type, const char* space) {
    return "!tile.buffer<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type +
           ", " + space + ">";
  };
  auto number = [](int value) { return std::to_string(value); };
  const std::string a = dims(shape.m, shape.k, in, "global"),
                    b = dims(shape.k, shape.n, in, "global");
  const std::string c = dims(shape.m, shape.n, out, "global");
  const std::string as = dims(block.m, block.k, in, "shared"),
                    bs = dims(block.k, block.n, in, "shared");
  const std::string cl = dims(block.m, block.n, "f32", "fragment");
  auto blocks = [](int size, int by) { return std::to_string((size + by - 1) / by); };
  return "func.func @gemm(%A: " + a + " {tile.name = \"A\"}, %B: " + b +
         " {tile.name = \"B\"}, %C: " + c +
         " {tile.name = \"C\"}, %scale: f32 {tile.name = \"scale\"}) attributes {tile.kernel} {\n"
         "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
         "  %gx = arith.constant " +
         blocks(shape.n, block.n) +
         " : index\n"
         "  %gy = arith.constant " +
         blocks(shape.m, block.m) +
         " : index\n"
         "  %gk = arith.constant " +
         blocks(shape.k, block.k) +
         " : index\n"
         "  %bm = arith.constant " +
         number(block.m) +
         " : index\n"
         "  %bn = arith.constant " +
         number(block.n) +
         " : index\n"
         "  %bk = arith.constant " +
         number(block.k) +
         " : index\n"
         "  %zero = arith.constant 0.0 : f32\n"
         "  tile.launch (%bx, %by) in (%gx, %gy) threads(128) {\n"
         "    %As = tile.alloc \"As\" : " +
         as + "\n    %Bs = tile.alloc \"Bs\" : " + bs +
         "\n"
         "    %Cl = tile.alloc \"Cl\" : " +
         cl +
         "\n"
         "    tile.fill %Cl : " +
         cl +
         " with %zero : f32\n"
         "    %m = arith.muli %by, %bm : index\n    %n = arith.muli %bx, %bn : index\n"
         "    tile.for %k = %c0 to %gk step %c1 pipelined(3) {\n"
         "      %kk = arith.muli %k, %bk : index\n"
         "      tile.copy %A[%m, %kk] [" +
         number(block.m) + ", " + number(block.k) + "] : " + a + " to %As : " + as +
         "\n"
         "      tile.copy %B[%kk, %n] [" +
         number(block.k) + ", " + number(block.n) + "] : " + b + " to %Bs : " + bs +
         "\n"
         "      tile.gemm %As : " +
         as + ", %Bs : " + bs + " into %Cl : " + cl +
         "\n    }\n"
         "    tile.parallel (%i, %j) in [" +
         number(block.m) + ", " + number(block.n) +
         "] {\n"
         "      %acc = tile.load %Cl[%i, %j] : " +
         cl +
         "\n      %scaled = arith.mulf %acc, %scale : f32\n"
         "      %relu = arith.maximumf %scaled, %zero : f32\n"
         "      tile.store %relu, %Cl[%i, %j] : " +
         cl +
         "\n    }\n"
         "    tile.copy %Cl : " +
         cl + " to %C[%m, %n] [" + number(block.m) + ", " + number(block.n) + "] : " + c +
         "\n  }\n  return\n}\n";
}

} // namespace tilewright
