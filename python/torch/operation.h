// The c10d calls by name, for messages, profiles and Work.
#pragma once

#include <sstream>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "errors.h"

namespace weft::torch_adapter {

struct Operation {
  c10d::OpType type;
  const char* title;  // in profiles: "weft:all_reduce"

  const char* name() const { return title + 5; }  // as torch.distributed calls it
};

// An operation on one rank: where an argument was wrong.
struct Site {
  int rank;
  const Operation& operation;
};

// Throws BadArgument: "rank 1, all_reduce: " and what the rest says.
template <typename... Parts>
[[noreturn]] void refuse(const Site& site, const Parts&... parts) {
  std::ostringstream text;
  text << "rank " << site.rank << ", " << site.operation.name() << ": ";
  (text << ... << parts);
  throw BadArgument(text.str());
}

inline constexpr Operation kBroadcast{c10d::OpType::BROADCAST, "weft:broadcast"};
inline constexpr Operation kAllReduce{c10d::OpType::ALLREDUCE, "weft:all_reduce"};
inline constexpr Operation kAllReduceCoalesced{c10d::OpType::ALLREDUCE_COALESCED,
                                               "weft:all_reduce_coalesced"};
inline constexpr Operation kAllReduceSparse{c10d::OpType::_ALLREDUCE_SPARSE,
                                            "weft:all_reduce_sparse"};
inline constexpr Operation kReduce{c10d::OpType::REDUCE, "weft:reduce"};
inline constexpr Operation kAllGather{c10d::OpType::ALLGATHER, "weft:all_gather"};
inline constexpr Operation kAllGatherBase{c10d::OpType::_ALLGATHER_BASE,
                                          "weft:all_gather_into_tensor"};
inline constexpr Operation kAllGatherCoalesced{c10d::OpType::ALLGATHER_COALESCED,
                                               "weft:all_gather_coalesced"};
inline constexpr Operation kGather{c10d::OpType::GATHER, "weft:gather"};
inline constexpr Operation kScatter{c10d::OpType::SCATTER, "weft:scatter"};
inline constexpr Operation kReduceScatter{c10d::OpType::REDUCE_SCATTER, "weft:reduce_scatter"};
inline constexpr Operation kReduceScatterBase{c10d::OpType::_REDUCE_SCATTER_BASE,
                                              "weft:reduce_scatter_tensor"};
inline constexpr Operation kReduceScatterCoalesced{c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED,
                                                   "weft:reduce_scatter_tensor_coalesced"};
inline constexpr Operation kAllToAll{c10d::OpType::ALLTOALL, "weft:all_to_all"};
inline constexpr Operation kAllToAllBase{c10d::OpType::ALLTOALL_BASE, "weft:all_to_all_single"};
inline constexpr Operation kBarrier{c10d::OpType::BARRIER, "weft:barrier"};
inline constexpr Operation kCoalesced{c10d::OpType::COALESCED, "weft:coalesced"};
inline constexpr Operation kSend{c10d::OpType::SEND, "weft:send"};
inline constexpr Operation kRecv{c10d::OpType::RECV, "weft:recv"};
inline constexpr Operation kRecvAnySource{c10d::OpType::RECVANYSOURCE, "weft:recv_any_source"};

}  // namespace weft::torch_adapter
