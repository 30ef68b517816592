// weft/plan.h and weft/verify.h. Plans are values: what an attribute returns is a copy, and
// nothing can be assigned to. Verbs, buffers and collectives are their names.
#include "plan.h"

#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "weft/verify.h"

namespace {

using namespace weft;

std::string named(std::string_view name) { return std::string(name); }

// The inverse of name_of for the `count` values of an enum.
template <typename Enum>
Enum parsed(const std::string& name, int count) {
  std::string known;
  for (int i = 0; i < count; ++i) {
    auto value = static_cast<Enum>(i);
    if (name_of(value) == name) return value;
    known += (known.empty() ? "" : ", ") + named(name_of(value));
  }
  throw InvalidPlan("\"" + name + "\" is none of " + known);
}

Buffer buffer_of(const std::string& name) { return parsed<Buffer>(name, 3); }

std::uint8_t byte_of(int value, const char* what) {
  if (value >= 0 && value <= 255) return static_cast<std::uint8_t>(value);
  throw InvalidPlan(std::string(what) + " " + std::to_string(value) + " is not in 0 .. 255");
}

std::string repr(const Index& index) {
  if (index == Index(index.base)) return std::to_string(index.base);
  return "Index(" + std::to_string(index.base) + ", " + std::to_string(index.first) + ", " +
         std::to_string(index.stride) + ", " + std::to_string(index.modulus) + ")";
}

std::string repr(const Range& range) {
  return "Range(\"" + named(name_of(range.buffer)) + "\", " + repr(range.block) + ", " +
         std::to_string(range.blocks) + ")";
}

std::string repr(const Operand& operand) {
  std::string rank = ", rank=" + repr(operand.rank);
  if (operand.buffer == Buffer::kSlot)
    return "Operand.slot(" + std::to_string(operand.channel) + rank + ")";
  return "Operand.of(" + repr(operand.range) + rank + ")";
}

// An index whose remainders can be taken.
Index index_of(int base, int first, int stride, int modulus) {
  if (modulus < 1)
    throw InvalidPlan("modulus " + std::to_string(modulus) + " of an index: it is at least 1");
  return {base, first, stride, modulus};
}

// The methods of all plan values: they compare, and they print.
template <typename T>
nb::class_<T> value(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<T>(m, name, doc)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"));
}

void bind_operands(nb::module_& m) {
  value<Index>(m, "Index", "base + (first + round * stride) mod modulus; an int where constant.")
      .def(
          "__init__",
          [](Index* self, int base, int first, int stride, int modulus) {
            new (self) Index(index_of(base, first, stride, modulus));
          },
          nb::arg("base"), nb::arg("first") = 0, nb::arg("stride") = 0, nb::arg("modulus") = 1)
      .def_ro("base", &Index::base)
      .def_ro("first", &Index::first)
      .def_ro("stride", &Index::stride)
      .def_ro("modulus", &Index::modulus)
      .def("at", &Index::at, nb::arg("round"))
      .def_prop_ro("constant", &Index::constant)
      .def("__repr__", [](const Index& self) { return repr(self); });
  nb::implicitly_convertible<int, Index>();

  value<Range>(m, "Range", "`blocks` blocks of \"input\" or \"output\", from `block` on.")
      .def(
          "__init__",
          [](Range* self, const std::string& buffer, Index block, int blocks) {
            new (self) Range{buffer_of(buffer), block, blocks};
          },
          nb::arg("buffer"), nb::arg("block"), nb::arg("blocks") = 1)
      .def_prop_ro("buffer", [](const Range& self) { return named(name_of(self.buffer)); })
      .def_ro("block", &Range::block)
      .def_ro("blocks", &Range::blocks)
      .def("__repr__", [](const Range& self) { return repr(self); });

  value<Operand>(m, "Operand", "What a step reads or writes: a range of a rank, or a slot.")
      .def_static(
          "of", [](Range range, Index rank) { return Operand{range.buffer, rank, range, 0}; },
          nb::arg("range"), nb::arg("rank"))
      .def_static(
          "slot",
          [](int channel, Index rank) {
            return Operand{Buffer::kSlot, rank, {}, byte_of(channel, "channel")};
          },
          nb::arg("channel"), nb::arg("rank"))
      .def_prop_ro("buffer", [](const Operand& self) { return named(name_of(self.buffer)); })
      .def_ro("rank", &Operand::rank)
      .def_ro("range", &Operand::range)
      .def_ro("channel", &Operand::channel)
      .def("__repr__", [](const Operand& self) { return repr(self); });
}

using Operands = std::vector<Operand>;

void bind_steps(nb::module_& m) {
  value<Step>(m, "Step", "One step; its text with str().")
      .def(
          "__init__",
          [](Step* self, const std::string& verb, Range extent, Operands dst, Operands src,
             std::vector<Index> peers, int channel, int lag, bool last, bool tree) {
            new (self) Step{parsed<Verb>(verb, kVerbs),
                            byte_of(channel, "channel"),
                            byte_of(lag, "lag"),
                            last,
                            tree,
                            extent,
                            std::move(dst),
                            std::move(src),
                            std::move(peers)};
          },
          nb::arg("verb"), nb::arg("extent"), nb::arg("dst") = Operands(),
          nb::arg("src") = Operands(), nb::arg("peers") = std::vector<Index>(),
          nb::arg("channel") = 0, nb::arg("lag") = 0, nb::arg("last") = false,
          nb::arg("tree") = false)
      .def_prop_ro("verb", [](const Step& self) { return named(name_of(self.verb)); })
      .def_ro("extent", &Step::extent)
      .def_ro("dst", &Step::dst)
      .def_ro("src", &Step::src)
      .def_ro("peers", &Step::peers)
      .def_ro("channel", &Step::channel)
      .def_ro("lag", &Step::lag)
      .def_ro("last", &Step::last)
      .def_ro("tree", &Step::tree)
      .def("__str__", [](const Step& self) { return to_text(self); })
      .def("__repr__", [](const Step& self) { return "<Step " + to_text(self) + ">"; });

  value<Section>(m, "Section", "Steps, for each round and (if chunked) for each chunk.")
      .def(nb::init<int, bool, std::vector<Step>>(), nb::arg("rounds"), nb::arg("chunked"),
           nb::arg("steps"))
      .def_ro("rounds", &Section::rounds)
      .def_ro("chunked", &Section::chunked)
      .def_ro("steps", &Section::steps)
      .def("__repr__", [](const Section& self) {
        return std::string(self.chunked ? "<Section chunks" : "<Section once") + ", " +
               std::to_string(self.rounds) + " rounds of " + std::to_string(self.steps.size()) +
               " steps>";
      });

  value<Channel>(m, "Channel", "A numbered stream of messages from each rank.")
      .def(
          "__init__",
          [](Channel* self, int slots, bool wide, bool narrow) {
            new (self) Channel{slots, width_of(wide, narrow)};
          },
          nb::arg("slots"), nb::arg("wide") = false, nb::arg("narrow") = false)
      .def_ro("slots", &Channel::slots)
      .def_prop_ro("wide", [](const Channel& self) { return self.width == Width::kWide; })
      .def_prop_ro("narrow", [](const Channel& self) { return self.width == Width::kNarrow; })
      .def("__repr__", [](const Channel& self) {
        return "Channel(" + std::to_string(self.slots) +
               (self.width == Width::kWide     ? ", wide=True)"
                : self.width == Width::kNarrow ? ", narrow=True)"
                                               : ")");
      });
}

void bind_plans(nb::module_& m) {
  value<PlanShape>(m, "PlanShape", "What all ranks' programs share.")
      .def(
          "__init__",
          [](PlanShape* self, std::string algorithm, const std::string& collective, int ranks,
             Params params, int input_blocks, int output_blocks, std::vector<Channel> channels,
             bool equal_counts, bool in_place) {
            new (self) PlanShape{std::move(algorithm),
                                 parse_collective(collective),
                                 ranks,
                                 std::move(params),
                                 input_blocks,
                                 output_blocks,
                                 std::move(channels),
                                 equal_counts,
                                 in_place};
          },
          nb::arg("algorithm"), nb::arg("collective"), nb::arg("ranks"),
          nb::arg("params") = Params(), nb::arg("input_blocks") = 1, nb::arg("output_blocks") = 1,
          nb::arg("channels") = std::vector<Channel>(), nb::arg("equal_counts") = false,
          nb::arg("in_place") = false)
      .def_ro("algorithm", &PlanShape::algorithm)
      .def_prop_ro("collective",
                   [](const PlanShape& self) { return named(name_of(self.collective)); })
      .def_ro("ranks", &PlanShape::ranks)
      .def_ro("params", &PlanShape::params)
      .def_ro("input_blocks", &PlanShape::input_blocks)
      .def_ro("output_blocks", &PlanShape::output_blocks)
      .def_ro("channels", &PlanShape::channels)
      .def_ro("equal_counts", &PlanShape::equal_counts)
      .def_ro("in_place", &PlanShape::in_place)
      .def_prop_ro("digest", [](const PlanShape& self) { return digest(self); })
      .def("__repr__", [](const PlanShape& self) {
        return "<PlanShape " + self.algorithm + " for " + std::to_string(self.ranks) + " ranks>";
      });

  value<Plan>(m, "Plan", "The programs of all ranks; its text with str().")
      .def(nb::init<PlanShape, std::vector<Program>>(), nb::arg("shape"), nb::arg("programs"))
      .def_ro("shape", &Plan::shape)
      .def_ro("programs", &Plan::programs)
      .def("__str__", [](const Plan& self) { return to_text(self); })
      .def("__repr__", [](const Plan& self) {
        return "<Plan " + self.shape.algorithm + " for " + std::to_string(self.shape.ranks) +
               " ranks>";
      });
  m.def("parse_plan", [](const std::string& text) { return parse_plan(text); }, nb::arg("text"));
}

void bind_verify(nb::module_& m) {
  nb::class_<Finding>(m, "Finding")
      .def_prop_ro("fault", [](const Finding& self) { return named(name_of(self.fault)); })
      .def_ro("rank", &Finding::rank)
      .def_ro("step", &Finding::step)
      .def_ro("text", &Finding::text)
      .def("__repr__", [](const Finding& self) {
        return "<Finding " + named(name_of(self.fault)) + " on rank " + std::to_string(self.rank) +
               ": " + self.text + ">";
      });
  nb::class_<VerifyReport>(m, "VerifyReport")
      .def_ro("findings", &VerifyReport::findings)
      .def_ro("consistent", &VerifyReport::consistent)
      .def_ro("reproducible", &VerifyReport::reproducible)
      .def_ro("rounds_partials", &VerifyReport::rounds_partials)
      .def_ro("narrowings", &VerifyReport::narrowings)
      .def_ro("scenarios", &VerifyReport::scenarios)
      .def_prop_ro("ok", &VerifyReport::ok)
      .def("__bool__", &VerifyReport::ok)
      .def("__str__", [](const VerifyReport& self) { return to_text(self); });
  m.def(
      "verify",
      [](const Plan& plan, int max_trips, bool consistent, bool reproducible) {
        return verify(plan, {max_trips, {consistent, reproducible}});
      },
      nb::arg("plan"), nb::arg("max_trips") = -1, nb::arg("consistent") = false,
      nb::arg("reproducible") = false, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_plan(nb::module_& m) {
  bind_operands(m);
  bind_steps(m);
  bind_plans(m);
  bind_verify(m);
  bind_builder(m);
  bind_algorithms(m);
}
