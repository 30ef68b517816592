// The names of the numbers of a model.
#include "base/machine_model.h"

namespace weft {
namespace {

constexpr NumberField<Reuse> kReuseFields[] = {
    {"reuse", &Reuse::span},
    {"reuse_to", &Reuse::to},
    {"lend_to", &Reuse::lend_to},
    {"lent_span", &Reuse::lent_span},
};
constexpr NumberField<Lengths> kLengthFields[] = {
    {"smallest_chunk", &Lengths::smallest_chunk},
    {"largest_chunk", &Lengths::largest_chunk},
    {"moved_chunk", &Lengths::moved_chunk},
    {"loaded_chunk", &Lengths::loaded_chunk},
    {"exchange_chunk", &Lengths::exchange_chunk},
    {"exchange_chunk_to", &Lengths::exchange_chunk_to},
    {"one_shot", &Lengths::one_shot},
    {"symmetric_one_shot", &Lengths::symmetric_one_shot},
    {"one_shot_of_two", &Lengths::one_shot_of_two},
    {"allreduce_chunk", &Lengths::allreduce_chunk},
    {"allreduce_chunk_to", &Lengths::allreduce_chunk_to},
    {"broadcast_ahead", &Lengths::broadcast_ahead},
    {"long_broadcast", &Lengths::long_broadcast},
    {"long_broadcast_chunk", &Lengths::long_broadcast_chunk},
    {"long_broadcast_ahead", &Lengths::long_broadcast_ahead},
    {"long_exchange", &Lengths::long_exchange},
    {"long_ahead", &Lengths::long_ahead},
    {"allreduce_in_place", &Lengths::allreduce_in_place},
    {"allreduce_in_place_chunk", &Lengths::allreduce_in_place_chunk},
    {"long_in_place", &Lengths::long_in_place},
    {"long_in_place_chunk", &Lengths::long_in_place_chunk},
    {"reduce_in_place", &Lengths::reduce_in_place},
    {"reduce_in_place_chunk", &Lengths::reduce_in_place_chunk},
    {"broadcast_in_place", &Lengths::broadcast_in_place},
    {"broadcast_in_place_chunk", &Lengths::broadcast_in_place_chunk},
    {"symmetric_from", &Lengths::symmetric_from},
    {"moved_from", &Lengths::moved_from},
    {"loaded_to", &Lengths::loaded_to},
};

}  // namespace

std::span<const NumberField<Reuse>> reuse_fields() { return kReuseFields; }
std::span<const NumberField<Lengths>> length_fields() { return kLengthFields; }

}  // namespace weft
