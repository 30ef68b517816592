// The tickets of a lane's members before they connect, and how an error names a member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Begins an error about the member at `place`.
inline std::string rank(std::size_t place) { return "rank " + std::to_string(place) + ": "; }

// "lane <number> <members> <own place>": the number is the fabric's business.
std::string ticket_of(std::uint64_t number, std::size_t members, int place);
// The numbers in the tickets of the members that are `wanted`, 0 for the others. Throws
// InvalidArgument if there is not one ticket for each member, or if one is damaged or speaks of
// another lane.
std::vector<std::uint64_t> parse_tickets(const std::vector<std::string>& tickets,
                                         const std::vector<bool>& wanted);

}  // namespace weft
