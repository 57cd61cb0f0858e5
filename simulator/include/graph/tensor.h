// SPDX-License-Identifier: Apache-2.0
/// Shapes, as the host's tiling functions take them.
#ifndef TILEWRIGHT_GRAPH_TENSOR_H
#define TILEWRIGHT_GRAPH_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ge {

class Shape {
public:
  Shape() = default;
  explicit Shape(std::vector<int64_t> sizes) : dims(std::move(sizes)) {}

  size_t GetDimNum() const {
    return dims.size();
  }
  /// 0 beside the dimensions that there are.
  int64_t GetDim(size_t index) const {
    return index < dims.size() ? dims[index] : 0;
  }
  std::vector<int64_t> GetDims() const {
    return dims;
  }
  /// How many elements; 0 if there is no dimension.
  int64_t GetShapeSize() const {
    int64_t product = dims.empty() ? 0 : 1;
    for (int64_t size : dims)
      product *= size;
    return product;
  }

private:
  std::vector<int64_t> dims;
};

} // namespace ge

#endif
