// SPDX-License-Identifier: Apache-2.0
#include "runtime/tensor_overlap.h"

#include <algorithm>

namespace tilewright::runtime {

namespace {

/// Combinations of indices that are looked at.
constexpr int64_t mostTried = 10'000;

struct Extent {
  int64_t first = 0, end = 0; // bytes from element 0
  bool isDense = true;        // row-major without gaps
};

int64_t bytesOfElement(const TensorView& view) {
  return std::max(int64_t(view.dtype.bits) * view.dtype.lanes / 8, int64_t(1));
}

int64_t strideOf(const TensorView& view, int32_t dim) {
  if (view.strides)
    return view.strides[dim];
  int64_t stride = 1;
  for (int32_t inner = dim + 1; inner < view.ndim; ++inner)
    stride *= view.shape[inner];
  return stride;
}

Extent extentOf(const TensorView& view) {
  Extent extent;
  int64_t dense = 1, last = 0;
  for (int32_t dim = view.ndim; dim-- > 0;) {
    if (view.shape[dim] == 1)
      continue;
    const int64_t stride = view.strides ? view.strides[dim] : dense;
    extent.isDense &= stride == dense;
    dense *= view.shape[dim];
    (stride < 0 ? extent.first : last) += stride * (view.shape[dim] - 1);
  }
  extent.first *= bytesOfElement(view);
  extent.end = (last + 1) * bytesOfElement(view);
  return extent;
}

bool areAlike(const TensorView& a, const TensorView& b) {
  if (a.ndim != b.ndim || bytesOfElement(a) != bytesOfElement(b))
    return false;
  for (int32_t dim = 0; dim < a.ndim; ++dim)
    if (a.shape[dim] != b.shape[dim] || (a.shape[dim] != 1 && strideOf(a, dim) != strideOf(b, dim)))
      return false;
  return true;
}

/// `step` bytes times each number from `low` to `high`.
struct Steps {
  int64_t step, low, high;
};

/// Whether some sum of them comes nearer to -`distance` than `width` bytes; counts what it tries down.
bool reaches(int64_t distance, int64_t width, const Steps* steps, size_t count, int64_t& left) {
  int64_t least = distance, most = distance;
  for (size_t i = 0; i < count; ++i) {
    least += std::min(steps[i].step * steps[i].low, steps[i].step * steps[i].high);
    most += std::max(steps[i].step * steps[i].low, steps[i].step * steps[i].high);
  }
  if (most <= -width || least >= width || left-- <= 0)
    return false;
  if (count == 0)
    return true;
  for (int64_t number = steps->low; number <= steps->high && left > 0; ++number)
    if (reaches(distance + steps->step * number, width, steps + 1, count - 1, left))
      return true;
  return false;
}

/// Of tensors with gaps: whether an element of one lies on one of the other.
TensorOverlap compareElements(const TensorView& a, const TensorView& b, int64_t apart) {
  std::vector<Steps> steps;
  const int64_t width = bytesOfElement(a), other = bytesOfElement(b);
  for (int32_t dim = 0; dim < a.ndim; ++dim)
    if (a.shape[dim] != 1 && strideOf(a, dim) != 0)
      steps.push_back({strideOf(a, dim) * width, 0, a.shape[dim] - 1});
  for (int32_t dim = 0; dim < b.ndim; ++dim) {
    if (b.shape[dim] == 1 || strideOf(b, dim) == 0)
      continue;
    // Dims of one stride count together, so that few combinations are left.
    const int64_t step = strideOf(b, dim) * other;
    const auto same = std::ranges::find(steps, step, &Steps::step);
    if (same != steps.end())
      same->low -= b.shape[dim] - 1;
    else
      steps.push_back({step, 1 - b.shape[dim], 0});
  }
  std::ranges::sort(
      steps, [](const Steps& x, const Steps& y) { return std::abs(x.step) > std::abs(y.step); });
  int64_t left = mostTried;
  const bool isReached = reaches(apart, std::min(width, other), steps.data(), steps.size(), left);
  return isReached  ? TensorOverlap::InPart
         : left > 0 ? TensorOverlap::None
                    : TensorOverlap::Unknown;
}

} // namespace

TensorOverlap compareTensors(const TensorView& a, const TensorView& b) {
  const Extent first = extentOf(a), second = extentOf(b);
  const int64_t apart =
      int64_t(reinterpret_cast<uintptr_t>(a.data) - reinterpret_cast<uintptr_t>(b.data));
  if (apart + first.end <= second.first || second.end <= apart + first.first)
    return TensorOverlap::None;
  const bool areDense = first.isDense && second.isDense;
  if (apart == 0 && (areAlike(a, b) || (areDense && first.end == second.end)))
    return TensorOverlap::Same;
  return areDense ? TensorOverlap::InPart : compareElements(a, b, apart);
}

} // namespace tilewright::runtime
