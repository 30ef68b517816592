// A cluster as the cost model and the simulator see it: ranks and switches, and the links
// between them. A plain value: fill it in, or read one from a file with the Python package
// (docs/topology.md), which also has generators. Not synchronised: share it read-only.
//
// Units are seconds, bytes a second (10^9 is a gigabyte) and watts.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Topology {
  // A rank's processor, or a switch: whatever links meet at.
  struct Vertex {
    std::string name;
    int node = -1;    // of the cluster; -1: outside of all nodes
    int socket = -1;  // of the node; -1: not said
    // A switch: all messages through it share its bandwidth, in both directions together.
    double latency = 0;
    double bandwidth = 0;  // 0: no limit
  };
  struct Link {
    int a = 0, b = 0;  // the vertices that it joins
    double latency = 0;
    double bandwidth = 0;  // of each direction; of both together if half duplex
    // For which each message occupies the link besides its bytes. Unlike latency it does not
    // overlap with the next message's: the start-up time of the textbooks' one-port models.
    double overhead = 0;
    bool full_duplex = true;
    bool shared = true;  // false: every message has the whole bandwidth, whatever else passes
    // Shared memory: sending costs the latency only, and the step that uses a payload fetches it.
    bool memory = false;
    double idle_watts = 0, busy_watts = 0;
  };

  std::string name;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<int> ranks;  // the vertex of each rank
  // A rank sends one message at a time, in the order of its program; else messages to several
  // ranks go at once and share what links they have in common.
  bool one_port = false;
  // The rates of a rank itself. Rates of 0 take no time.
  double copy = 0;    // bytes a second
  double reduce = 0;  // source bytes a second: a + b of 8 bytes each are 16
  double step = 0;    // seconds for each step of a program
  double call = 0;    // seconds for a call besides its steps
  // The rates of a rank with `bytes` bytes of buffers, inputs and outputs together.
  struct Rates {
    double bytes = 0;
    double copy = 0, reduce = 0;  // as above
    double fetch = 0;  // of what lies in a peer's memory, at most; 0: the link's bandwidth
    // Of a reduction's result into a slot, at most, since ordinary stores fetch the lines that
    // peers have read (a long copy does not); 0: no limit.
    double store = 0;
  };
  // By bytes. Between two of them time a byte is interpolated over the logarithm of the bytes,
  // outside of them the nearest holds. Empty: `copy` and `reduce` for any size.
  std::vector<Rates> by_size = {};
};

// A rank's rates if it has `bytes` bytes of buffers.
Topology::Rates rates_at(const Topology& topology, double bytes);

// Throws InvalidArgument naming the first vertex, link or rank that makes no sense.
void check(const Topology& topology);
// The same; also throws unless the topology has `ranks` ranks, at least one.
void check(const Topology& topology, int ranks);

// The node of each of the first `ranks` ranks. Empty if one lies on a vertex without a node.
// Throws as check() does.
std::vector<int> place_of(const Topology& topology, int ranks);
// How many ranks a node has, by the node of each rank. All nodes must have equally many consecutive
// ranks, except the last, which may have fewer. 0: they do not.
int ranks_a_node(const std::vector<int>& place);

// The tree that joins the first `ranks` ranks: the parent of each vertex, -1 for the top, ranks
// first. If there are several routes (rails) the tree has the widest links, so that nodes and
// sockets stay together. Vertices that join fewer than two branches are left out. Empty if
// nothing joins the ranks. Throws as check() does.
// Source: Prim, "Shortest Connection Networks and Some Generalizations", 1957.
std::vector<int> tree_of(const Topology& topology, int ranks);

// The routes of messages: over the fewest links. Among several such routes between switches the
// destination's number chooses at each switch, so that the routes to many ranks spread (d-mod-k in
// a fat tree). Among routes from, to or past ranks, the one wins whose highest vertex has the
// lowest number, as in SimGrid's Floyd zones. Keeps the routes it has found: not thread safe.
class Routes {
 public:
  struct Hop {
    int link;
    bool forward;  // from its a to its b
  };

  // Checks the topology, which outlives this.
  explicit Routes(const Topology& topology);

  // From rank to rank, in order; empty between a rank and itself. Valid until the next call.
  // Throws InvalidArgument naming both if nothing joins them, or if there is no such rank.
  const std::vector<Hop>& path(int from, int to);
  // Seconds: of the links, and of the switches between them.
  double latency(int from, int to);

 private:
  struct Edge {
    int link, to;
  };
  const std::vector<int>& toward(int rank);
  const Edge& among(const std::vector<Edge>& nearer, int vertex, int rank,
                    const std::vector<int>& highest) const;
  int vertex_of(int rank) const;

  const Topology& topology_;
  std::vector<std::vector<Edge>> edges_;  // by vertex
  std::vector<bool> is_rank_;             // by vertex
  std::vector<std::vector<int>> next_;    // by rank: the link to take at each vertex, or -1
  std::vector<Hop> path_;
};

}  // namespace weft
