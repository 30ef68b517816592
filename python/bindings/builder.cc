// weft/builder.h: the builder. Sections are context managers; where C++ takes lists, one
// operand or rank will do.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <variant>

#include "plan.h"

namespace {

using weft::Operand;

template <typename T>
using OneOrMany = std::variant<T, std::vector<T>>;
using Operands = OneOrMany<Operand>;
using Ranks = OneOrMany<int>;

template <typename T>
std::vector<T> many(OneOrMany<T> value) {
  if (auto* one = std::get_if<T>(&value)) return {std::move(*one)};
  return std::get<std::vector<T>>(std::move(value));
}

// `with b.chunks():`. Keeps the builder's Python object alive.
class PySection {
 public:
  PySection(nb::object builder, bool chunked) : builder_(std::move(builder)), chunked_(chunked) {}

  void enter() { builder()->begin(chunked_); }

  // An exception in the block goes on; its section is dropped.
  void exit(nb::handle kind) {
    if (kind.is_none())
      builder()->end();
    else
      builder()->abandon();
  }

 private:
  PyBuilder& builder() { return nb::cast<PyBuilder&>(builder_); }

  nb::object builder_;
  bool chunked_;
};

void put(PyBuilder& b, const Operand& src, Ranks to, int channel, std::optional<Operands> dst) {
  auto ranks = many(std::move(to));
  if (!dst) return b->put(src, std::move(ranks), channel);
  b->put(many(std::move(*dst)), src, std::move(ranks), channel);
}

void signal(PyBuilder& b, Ranks to, int channel, std::optional<Operand> of) {
  if (of)
    b->signal(many(std::move(to)), channel, std::move(*of));
  else
    b->signal(many(std::move(to)), channel);
}

void wait(PyBuilder& b, int from, int channel, std::optional<Operand> of) {
  if (of)
    b->wait(from, channel, std::move(*of));
  else
    b->wait(from, channel);
}

void credit(PyBuilder& b, int from, int channel, std::optional<Operand> of) {
  if (of)
    b->credit(from, channel, std::move(*of));
  else
    b->credit(from, channel);
}

void bind_declarations(nb::class_<PyBuilder>& type) {
  using nb::arg;
  type.def(nb::init<int, weft::PlanShape>(), arg("rank"), arg("shape"))
      .def_prop_ro("rank", [](PyBuilder& b) { return b->rank(); })
      .def_prop_ro("ranks", [](PyBuilder& b) { return b->ranks(); })
      .def_prop_ro("shape", [](PyBuilder& b) { return b->shape(); })
      .def(
          "param",
          [](PyBuilder& b, const std::string& name, const weft::Param& fallback) {
            return b->param(name, fallback);
          },
          arg("name"), arg("fallback"))
      .def(
          "blocks", [](PyBuilder& b, int input, int output) { b->blocks(input, output); },
          arg("input"), arg("output"))
      .def("equal_counts", [](PyBuilder& b) { b->equal_counts(); })
      .def("in_place", [](PyBuilder& b) { b->in_place(); })
      .def(
          "channel",
          [](PyBuilder& b, int slots, bool wide, bool narrow) {
            return b->channel(slots, width_of(wide, narrow));
          },
          arg("slots"), arg("wide") = false, arg("narrow") = false)
      .def("finish", [](PyBuilder& b) { return b->finish(); });
}

void bind_operands(nb::class_<PyBuilder>& type) {
  using nb::arg;
  type.def(
          "input", [](PyBuilder& b, int block, int blocks) { return b->input(block, blocks); },
          arg("block") = 0, arg("blocks") = 1)
      .def(
          "output", [](PyBuilder& b, int block, int blocks) { return b->output(block, blocks); },
          arg("block") = 0, arg("blocks") = 1)
      .def(
          "input_of",
          [](PyBuilder& b, int rank, int block, int blocks) {
            return b->input_of(rank, block, blocks);
          },
          arg("rank"), arg("block") = 0, arg("blocks") = 1)
      .def(
          "output_of",
          [](PyBuilder& b, int rank, int block, int blocks) {
            return b->output_of(rank, block, blocks);
          },
          arg("rank"), arg("block") = 0, arg("blocks") = 1)
      .def(
          "slot", [](PyBuilder& b, int channel) { return b->slot(channel); }, arg("channel"))
      .def(
          "slot", [](PyBuilder& b, int peer, int channel) { return b->slot(peer, channel); },
          arg("peer"), arg("channel"));
}

void bind_sections(nb::module_& m, nb::class_<PyBuilder>& type) {
  nb::class_<PySection>(m, "_Section")
      .def("__enter__", &PySection::enter)
      .def(
          "__exit__",
          [](PySection& self, nb::handle kind, nb::handle, nb::handle) { self.exit(kind); },
          nb::arg().none(), nb::arg().none(), nb::arg().none());
  type.def("chunks", [](nb::handle_t<PyBuilder> b) { return PySection(nb::borrow(b), true); })
      .def("once", [](nb::handle_t<PyBuilder> b) { return PySection(nb::borrow(b), false); })
      .def("lag", [](PyBuilder& b, int trips) { b->lag(trips); }, nb::arg("trips"));
}

void bind_steps(nb::class_<PyBuilder>& type) {
  using nb::arg;
  type.def(
          "copy",
          [](PyBuilder& b, Operands dst, Operand src, std::optional<Operand> of) {
            if (of)
              b->copy(many(std::move(dst)), std::move(src), std::move(*of));
            else
              b->copy(many(std::move(dst)), std::move(src));
          },
          arg("dst"), arg("src"), arg("of") = nb::none())
      .def(
          "reduce",
          [](PyBuilder& b, Operands dst, std::vector<Operand> src, bool last, bool tree) {
            b->reduce(many(std::move(dst)), std::move(src),
                      last ? weft::Builder::kLast : weft::Builder::kPartial,
                      tree ? weft::Builder::kTree : weft::Builder::kFromLeft);
          },
          arg("dst"), arg("src"), arg("last") = false, arg("tree") = false)
      .def("put", &put, arg("src"), arg("to"), arg("channel"), arg("dst") = nb::none())
      .def("signal", &signal, arg("to"), arg("channel"), arg("of") = nb::none())
      .def("wait", &wait, arg("source"), arg("channel"), arg("of") = nb::none())
      .def("credit", &credit, arg("source"), arg("channel"), arg("of") = nb::none())
      .def("flush", [](PyBuilder& b) { b->flush(); });
}

std::vector<int> members_of(const weft::Group& group) {
  std::vector<int> members;
  for (int place = 0; place < group.size(); ++place) members.push_back(group.at(place));
  return members;
}

void bind_group(nb::module_& m) {
  using weft::Group;
  nb::class_<Group>(m, "Group", "Ranks in order, and this rank's place among them.")
      .def(nb::init<int, int>(), nb::arg("rank"), nb::arg("ranks"))
      .def(nb::init<int, std::vector<int>>(), nb::arg("rank"), nb::arg("members"))
      .def_prop_ro("me", &Group::me)
      .def_prop_ro("members", &members_of)
      .def("at", &Group::at, nb::arg("place"))
      .def("wrap", &Group::wrap, nb::arg("place"))
      .def("__len__", &Group::size)
      .def("__iter__", [](const Group& self) { return nb::iter(nb::cast(members_of(self))); });
}

}  // namespace

void bind_builder(nb::module_& m) {
  nb::class_<PyBuilder> type(m, "Builder", "Writes one rank's program. One thread.");
  bind_declarations(type);
  bind_operands(type);
  bind_sections(m, type);
  bind_steps(type);
  bind_group(m);
}
