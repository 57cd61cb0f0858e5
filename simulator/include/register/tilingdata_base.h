// SPDX-License-Identifier: Apache-2.0
/// Tiling data that a host program fills and a kernel reads. A class made by these macros is a plain
/// structure of its fields, so that the kernel can take it by value, or copy it from GM with
/// GET_TILING_DATA_WITH_STRUCT, or with GET_TILING_DATA after REGISTER_TILING_DEFAULT.
#ifndef TILEWRIGHT_REGISTER_TILINGDATA_BASE_H
#define TILEWRIGHT_REGISTER_TILINGDATA_BASE_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "ascendc/letters_begin.h"

namespace optiling {

/// Saves nothing and says so if the buffer is too small.
inline void saveTilingData(const char* name, const void* data, size_t bytes, void* buffer,
                           size_t capacity) {
  if (capacity >= bytes)
    std::memcpy(buffer, data, bytes);
  else
    std::fprintf(stderr, "error: %s has %zu bytes, but SaveToBuffer was given %zu\n", name, bytes,
                 capacity);
}

} // namespace optiling

#define BEGIN_TILING_DATA_DEF(Name)                                                                \
  struct Name {                                                                                    \
    size_t GetDataSize() const {                                                                   \
      return sizeof(Name);                                                                         \
    }                                                                                              \
    void SaveToBuffer(void* buffer, size_t capacity) const {                                       \
      ::optiling::saveTilingData(#Name, this, sizeof(Name), buffer, capacity);                     \
    }
#define TILING_DATA_FIELD_DEF(type, name)                                                          \
  type name{};                                                                                     \
  type get_##name() const {                                                                        \
    return name;                                                                                   \
  }                                                                                                \
  void set_##name(type value) {                                                                    \
    name = value;                                                                                  \
  }
#define TILING_DATA_FIELD_DEF_ARR(type, length, name)                                              \
  type name[length]{};                                                                             \
  const type* get_##name() const {                                                                 \
    return name;                                                                                   \
  }                                                                                                \
  type* get_##name() {                                                                             \
    return name;                                                                                   \
  }                                                                                                \
  void set_##name(const type* values) {                                                            \
    std::memcpy(name, values, sizeof name);                                                        \
  }
#define TILING_DATA_FIELD_DEF_STRUCT(type, name) type name;
#define END_TILING_DATA_DEF }

/// That the operator's tiling data is this class, which must be what can be copied byte by byte.
#define REGISTER_TILING_DATA_CLASS(Operator, Class)                                                \
  static_assert(std::is_trivially_copyable_v<Class> && std::is_standard_layout_v<Class>,           \
                "the tiling data of " #Operator ", " #Class ", isn't a plain structure");          \
  using TilingDataOf##Operator = Class;

#include "ascendc/letters_end.h"

#endif
