#include "call.h"

#include "weft/collective.h"

#include <cmath>

namespace {

void check_count(const Array& array, std::size_t needed, const std::string& who) {
  if (array.count() == needed) return;
  throw weft::InvalidArgument(who + " has " + std::to_string(array.count()) +
                              " elements but this call needs " + std::to_string(needed));
}

weft::ReduceOp reduction(const std::string& name, const std::string& who) {
  try {
    return weft::parse_reduce_op(name);
  } catch (const weft::InvalidArgument& error) {
    throw weft::InvalidArgument(who + "op: " + error.what());
  }
}

void check_counts(const std::vector<std::size_t>& counts, int size, const std::string& who) {
  if (counts.empty() || counts.size() == static_cast<std::size_t>(size)) return;
  throw weft::InvalidArgument(who + " has " + std::to_string(counts.size()) +
                              " entries: give one a rank, " + std::to_string(size));
}

}  // namespace

std::chrono::milliseconds milliseconds(double seconds) {
  if (!(seconds >= 0.0 && seconds < 1e12))
    throw weft::InvalidArgument("timeout " + std::to_string(seconds) +
                                " is not a number of seconds: give one above zero");
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000.0)));
}

const weft::Call& BoundCall::attach() {
  call.input = input.data();
  call.output = output.data();
  call.input_counts = input_counts;
  call.output_counts = output_counts;
  call.algorithm = algorithm;
  return call;
}

BoundCall bind_call(const CallArguments& arguments, int rank, int size) {
  const std::string who = "rank " + std::to_string(rank) + ": " + arguments.collective + ": ";
  BoundCall bound;
  bound.call.collective = weft::parse_collective(arguments.collective);
  bound.call.op = reduction(arguments.op, who);
  bound.call.count = arguments.count;
  bound.call.root = arguments.root;
  bound.call.symmetric = arguments.symmetric;
  bound.call.scale = arguments.scale;
  bound.call.timeout = milliseconds(arguments.timeout);
  bound.algorithm = arguments.algorithm;
  bound.input_counts = arguments.input_counts.value_or(std::vector<std::size_t>());
  bound.output_counts = arguments.output_counts.value_or(std::vector<std::size_t>());
  check_counts(bound.input_counts, size, who + "input_counts");
  check_counts(bound.output_counts, size, who + "output_counts");

  const auto& traits = weft::traits_of(bound.call.collective);
  const auto count = bound.call.count;
  if (!arguments.output.is_none()) {
    bound.output = Array::output(arguments.output, who + "out");
    bound.call.dtype = bound.output.dtype();
    check_count(bound.output, traits.output.elements(count, bound.output_counts, size),
                who + "out");
  }
  if (!arguments.input.is_none()) {
    // In place it is imported once: DLPack takes as long as all else here.
    const bool in_place = arguments.input.is(arguments.output);
    bound.input = in_place ? bound.output : Array::input(arguments.input, who + "x");
    bound.call.dtype = bound.input.dtype();
    check_count(bound.input, traits.input.elements(count, bound.input_counts, size), who + "x");
    if (!arguments.output.is_none() && bound.output.dtype() != bound.input.dtype())
      throw weft::InvalidArgument(who + "out is " +
                                  std::string(weft::name_of(bound.output.dtype())) + " but x is " +
                                  std::string(weft::name_of(bound.input.dtype())));
  }
  return bound;
}
