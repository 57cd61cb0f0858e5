// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/tensor_names.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace tilewright::ascend {

namespace {
int64_t floorDivided(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}
} // namespace

std::string TensorName::shapeText() const {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + (extent < 0 ? std::string("?") : std::to_string(extent));
  return "(" + text + ")";
}

std::string TensorName::elementAt(int64_t offset) const {
  const bool isKnown =
      shape.size() < 2 ||
      std::all_of(shape.begin() + 1, shape.end(), [](int64_t extent) { return extent > 0; });
  if (shape.empty() || bits == 0 || pitch == 0 || !isKnown)
    return {};
  const int64_t element = floorDivided(offset * 8, bits);
  if (shape.size() == 1)
    return "[" + std::to_string(element) + "]";
  int64_t row = floorDivided(element, pitch);
  // What lies between two rows belongs to the end of the first.
  std::string text = std::to_string(std::min(element - row * pitch, shape.back() - 1)) + "]";
  for (size_t dim = shape.size() - 1; dim-- > 1; row = floorDivided(row, shape[dim]))
    text.insert(0, std::to_string(row - floorDivided(row, shape[dim]) * shape[dim]) + ", ");
  return "[" + std::to_string(row) + ", " + text;
}

std::string TensorName::elementsAt(int64_t begin, int64_t end) const {
  const std::string first = elementAt(begin), last = elementAt(end - 1);
  return last == first ? first : first + " to " + last;
}

void TensorName::fillShape(const std::vector<int64_t>& extents) {
  auto next = extents.begin();
  for (int64_t& extent : shape)
    if (extent < 0 && next != extents.end())
      extent = *next++;
  if (pitch == 0 && shape.size() > 1 && shape.back() > 0)
    pitch = shape.back();
}

std::optional<int64_t> TensorName::bytes() const {
  int64_t rows = 1;
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    rows = shape[dim] < 0 || rows < 0 ? -1 : rows * shape[dim];
  if (shape.empty() || rows < 0 || shape.back() < 0 || pitch == 0)
    return std::nullopt;
  return ((shape.size() == 1 ? shape[0] : rows * pitch) * bits + 7) / 8;
}

std::optional<int64_t> TensorName::bytesOfVersion() const {
  constexpr int64_t block = 32;
  const std::optional<int64_t> own = bytes();
  return own ? std::optional((*own + block - 1) / block * block) : std::nullopt;
}

std::optional<TensorName> tensorNamed(const char* text, uint16_t number) {
  if (!text || number == 0)
    return std::nullopt;
  std::string_view rest = text;
  for (uint16_t k = 1; k < number; ++k) {
    const size_t end = rest.find(';');
    if (end == std::string_view::npos)
      return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  std::istringstream entry{std::string(rest.substr(0, rest.find(';')))};
  TensorName tensor;
  if (!(entry >> tensor.name >> tensor.begin >> tensor.bits >> tensor.pitch))
    return std::nullopt;
  for (int64_t extent = 0; entry >> extent;)
    tensor.shape.push_back(extent);
  if (const size_t star = tensor.name.find('*'); star != std::string::npos) {
    tensor.versions = std::strtoll(tensor.name.c_str() + star + 1, nullptr, 10);
    tensor.name.resize(star);
  }
  return tensor;
}

std::vector<Interval> versionsIn(const char* text) {
  std::vector<Interval> found;
  if (!text || std::string_view(text).find('*') == std::string_view::npos)
    return found;
  found.emplace_back(); // numbers count from 1
  while (const std::optional<TensorName> tensor =
             tensorNamed(text, static_cast<uint16_t>(found.size()))) {
    const int64_t bytes = tensor->versions > 1 ? tensor->bytesOfVersion().value_or(0) : 0;
    found.push_back({tensor->begin, tensor->begin + static_cast<uint64_t>(bytes)});
  }
  return found;
}

std::string ofTensor(const char* text, uint16_t number) {
  const std::optional<TensorName> tensor = tensorNamed(text, number);
  return tensor ? " of '" + tensor->name + "'" : "";
}

std::string outsideOf(const TensorName& tensor, int64_t begin, int64_t end, bool isWritten) {
  const std::optional<int64_t> bytes = tensor.bytes();
  if (const int64_t each = tensor.bytesOfVersion().value_or(0); each > 0) {
    const int64_t before = std::clamp<int64_t>(begin / each, 0, tensor.versions - 1) * each;
    begin -= before;
    end -= before;
  }
  if (begin >= end || (begin >= 0 && (!bytes || end <= *bytes)))
    return {};
  const std::string elements = tensor.elementsAt(begin, end);
  if (elements.empty())
    return {};
  return "'" + tensor.name + (isWritten ? "' is written at " : "' is read at ") + elements +
         ", but its shape is " + tensor.shapeText();
}

} // namespace tilewright::ascend
