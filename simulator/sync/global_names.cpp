// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/global_names.h"

#include "simulator/memory/global_memory.h"

namespace tilewright::ascend {

namespace {

/// "192 to 255", of the allocation.
std::string bytesFrom(const Region& region) {
  GlobalRange range{};
  findGlobalRange(region.begin, range);
  const Interval hull = region.hull();
  return std::to_string(hull.begin - range.begin) + " to " +
         std::to_string(hull.end - 1 - range.begin);
}

struct Elements {
  std::string name, places; ///< empty: only bytes can be told
};
Elements elementsOf(const CoreHazards& core, const GlobalAccess& access, const Region& region) {
  const std::optional<GlobalTensorName> global = core.globalTensor(access.tensor);
  if (!global)
    return {};
  const Interval hull = region.hull();
  return {global->tensor.name,
          global->tensor.elementsAt(static_cast<int64_t>(hull.begin - global->begin),
                                    static_cast<int64_t>(hull.end - global->begin))};
}

} // namespace

std::string globalElements(const CoreHazards& core, const GlobalAccess& access,
                           const Region& region) {
  const Elements elements = elementsOf(core, access, region);
  return elements.places.empty() ? "" : "'" + elements.name + "'" + elements.places;
}

std::string globalBytes(const CoreHazards& core, const GlobalAccess& access, const Region& region) {
  if (std::string elements = globalElements(core, access, region); !elements.empty())
    return elements;
  const Elements elements = elementsOf(core, access, region);
  GlobalRange range{};
  findGlobalRange(region.begin, range);
  return "GM bytes " + bytesFrom(region) + " of " +
         (elements.name.empty() ? "an allocation" : "'" + elements.name + "'") + " of " +
         std::to_string(range.end - range.begin) + " bytes";
}

std::string moreGlobalBytes(const CoreHazards& core, const GlobalAccess& access,
                            const Region& region) {
  const Elements elements = elementsOf(core, access, region);
  return elements.places.empty() ? "bytes " + bytesFrom(region) : elements.places;
}

bool nameTheSame(const CoreHazards& core, const GlobalAccess& access, const CoreHazards& otherCore,
                 const GlobalAccess& other) {
  auto nameIn = [](const CoreHazards& from, const GlobalAccess& of) {
    const Elements elements = elementsOf(from, of, of.region);
    return elements.places.empty() ? std::string() : elements.name;
  };
  return nameIn(core, access) == nameIn(otherCore, other);
}

} // namespace tilewright::ascend
