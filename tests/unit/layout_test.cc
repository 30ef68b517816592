#include "base/layout.h"

#include <gtest/gtest.h>

#include "support/variable.h"

namespace weft {
namespace {

#if WEFT_HWLOC

struct Row {
  const char* synthetic;
  std::vector<std::vector<int>> sockets, numa_nodes;  // their processors
  std::vector<int> caches;                            // how many of each level
  int cores;                                          // a socket
};

std::vector<std::vector<int>> processors(const std::vector<Domain>& domains) {
  std::vector<std::vector<int>> lists;
  for (const Domain& domain : domains) lists.push_back(domain.processors);
  return lists;
}

TEST(Layout, SocketsMemoryNodesAndCaches) {
  for (const Row& row : std::vector<Row>{
           {"pack:1 core:2 pu:1", {{0, 1}}, {{0, 1}}, {}, 2},
           {"pack:2 l3:1 l2:2 core:1 pu:1", {{0, 1}, {2, 3}}, {{0, 1, 2, 3}}, {0, 4, 2}, 2},
           {"pack:2 numa:2 l3:1 l1:1 core:1 pu:2",
            {{0, 1, 2, 3}, {4, 5, 6, 7}},
            {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
            {4, 0, 4},
            2},
           // Threads of a core far from each other, as Linux numbers them.
           {"pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
            {{0, 1, 4, 5}, {2, 3, 6, 7}},
            {{0, 1, 2, 3, 4, 5, 6, 7}},
            {},
            2}}) {
    const testing::Variable machine("HWLOC_SYNTHETIC", row.synthetic);
    const Layout layout = read_layout();
    if (!layout.missing.empty()) GTEST_SKIP() << layout.missing;
    EXPECT_EQ(processors(layout.sockets), row.sockets) << row.synthetic;
    EXPECT_EQ(processors(layout.numa_nodes), row.numa_nodes) << row.synthetic;
    EXPECT_EQ(layout.sockets.front().cores, row.cores) << row.synthetic;
    std::vector<int> levels(3);
    for (const Cache& cache : layout.caches) ++levels.at(static_cast<std::size_t>(cache.level - 1));
    EXPECT_EQ(levels, row.caches.empty() ? std::vector<int>(3) : row.caches) << row.synthetic;
  }
}

TEST(Layout, OfThisMachine) {
  const Layout layout = read_layout();
  if (!layout.missing.empty()) GTEST_SKIP() << layout.missing;
  ASSERT_FALSE(layout.sockets.empty());
  for (const Domain& socket : layout.sockets) {
    EXPECT_FALSE(socket.processors.empty());
    EXPECT_GE(socket.cores, 1);
  }
}

#endif

TEST(Layout, ProcessorsOfOneDomainOrOfSeveral) {
  const std::vector<Domain> domains{{3, 2, {0, 1, 4, 5}}, {7, 2, {2, 3}}};
  struct {
    std::vector<int> processors;
    int domain;
  } const rows[] = {{{0}, 3}, {{5, 1}, 3}, {{2, 3}, 7}, {{1, 2}, -1}, {{8}, -1}, {{}, -1}};
  for (const auto& row : rows) EXPECT_EQ(domain_of(domains, row.processors), row.domain);
  EXPECT_EQ(domain_of({}, {0}), -1);
}

}  // namespace
}  // namespace weft
