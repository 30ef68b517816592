// MPI's functions as a library has them: one typed pointer each, found by name when they are made.
#pragma once

#include <dlfcn.h>
#include <string>

#include "fabric/mpi/abi.h"
#include "fabric/mpi/types.h"

namespace weft::mpi {

// Throws Failure: "mpi: MPI_Isend: <the library's text>".
[[noreturn]] void fail(const File& file, const char* name, int code);

// One function. A call throws Failure if MPI returns an error. `Status` arguments are void*.
template <typename... Args>
class Function {
 public:
  // Throws Unsupported if the library lacks it.
  Function(const File& file, const char* name)
      : file_(file), name_(name), call_(reinterpret_cast<Call>(::dlsym(file.handle, name))) {
    if (!call_) throw Unsupported("mpi: " + file.path + " has no " + name);
  }
  void operator()(Args... args) const {
    if (const int code = call_(args...); code != 0) fail(file_, name_, code);
  }
  // MPI's code instead.
  int code(Args... args) const { return call_(args...); }

 private:
  using Call = int (*)(Args...);
  const File& file_;
  const char* const name_;
  const Call call_;
};

// H: what a handle is, int or void*.
template <typename H>
struct Functions {
  explicit Functions(const File& from) : file(from) {}
  const File& file;

  Function<int*> initialized{file, "MPI_Initialized"};
  Function<int*> finalized{file, "MPI_Finalized"};
  Function<int*, char***, int, int*> init_thread{file, "MPI_Init_thread"};
  Function<int*> query_thread{file, "MPI_Query_thread"};
  Function<> finalize{file, "MPI_Finalize"};

  Function<H, int*> comm_rank{file, "MPI_Comm_rank"};
  Function<H, int*> comm_test_inter{file, "MPI_Comm_test_inter"};
  Function<H, int*> comm_size{file, "MPI_Comm_size"};
  Function<H, H*> comm_group{file, "MPI_Comm_group"};
  Function<H, int, int, H*> comm_split{file, "MPI_Comm_split"};
  Function<H, H, int, H*> comm_create_group{file, "MPI_Comm_create_group"};
  Function<H*> comm_free{file, "MPI_Comm_free"};
  Function<H, H> comm_set_errhandler{file, "MPI_Comm_set_errhandler"};
  Function<H, int, const int*, H*> group_incl{file, "MPI_Group_incl"};
  Function<H, int*> group_size{file, "MPI_Group_size"};
  Function<H, int, const int*, H, int*> group_translate_ranks{file, "MPI_Group_translate_ranks"};
  Function<H*> group_free{file, "MPI_Group_free"};

  Function<const void*, int, H, int, int, H, H*> isend{file, "MPI_Isend"};
  Function<void*, int, H, int, int, H, H*> irecv{file, "MPI_Irecv"};
  Function<int, int, H, int*, void*> iprobe{file, "MPI_Iprobe"};
  Function<H*, int*, void*> test{file, "MPI_Test"};
  Function<H*, void*> wait{file, "MPI_Wait"};
  Function<H*> cancel{file, "MPI_Cancel"};
  Function<H*> request_free{file, "MPI_Request_free"};
  Function<const void*, H, int*> get_count{file, "MPI_Get_count"};
  Function<const void*, int*> test_cancelled{file, "MPI_Test_cancelled"};

  using Counts = const int*;
  Function<H, H*> ibarrier{file, "MPI_Ibarrier"};
  Function<void*, int, H, int, H, H*> ibcast{file, "MPI_Ibcast"};
  Function<const void*, void*, int, H, H, H, H*> iallreduce{file, "MPI_Iallreduce"};
  Function<const void*, void*, int, H, H, int, H, H*> ireduce{file, "MPI_Ireduce"};
  Function<const void*, void*, int, H, H, H, H*> ireduce_scatter_block{file,
                                                                       "MPI_Ireduce_scatter_block"};
  Function<const void*, void*, Counts, H, H, H, H*> ireduce_scatter{file, "MPI_Ireduce_scatter"};
  Function<const void*, int, H, void*, int, H, H, H*> iallgather{file, "MPI_Iallgather"};
  Function<const void*, int, H, void*, Counts, Counts, H, H, H*> iallgatherv{file,
                                                                             "MPI_Iallgatherv"};
  Function<const void*, Counts, Counts, H, void*, Counts, Counts, H, H, H*> ialltoallv{
      file, "MPI_Ialltoallv"};
  Function<const void*, int, H, void*, Counts, Counts, H, int, H, H*> igatherv{file,
                                                                               "MPI_Igatherv"};
  Function<const void*, Counts, Counts, H, void*, int, H, int, H, H*> iscatterv{file,
                                                                                "MPI_Iscatterv"};
};

}  // namespace weft::mpi
