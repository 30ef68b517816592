// A plan's parameter as Python's int, str or list of int.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "weft/error.h"
#include "weft/plan.h"

namespace nanobind::detail {

template <>
struct type_caster<weft::Param> {
  NB_TYPE_CASTER(weft::Param, const_name("int | str | list[int]"))

  bool from_python(handle src, std::uint8_t, cleanup_list*) noexcept {
    int number = 0;
    std::string word;
    std::vector<int> list;
    if (PyBool_Check(src.ptr())) return false;
    try {
      if (try_cast(src, number))
        value = number;
      else if (PyUnicode_Check(src.ptr()) && try_cast(src, word))
        value = word;
      else if (!PyUnicode_Check(src.ptr()) && try_cast(src, list))
        value = list;
      else
        return false;
    } catch (const weft::InvalidArgument&) {
      return false;  // no word
    }
    return true;
  }

  static handle from_cpp(const weft::Param& param, rv_policy, cleanup_list*) {
    return std::visit([](const auto& held) { return cast(held).release(); }, param.value());
  }
};

}  // namespace nanobind::detail
