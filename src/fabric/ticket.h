// What a lane's members tell each other before they connect, and how an error names one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

// Begins an error about the member at `place`.
inline std::string rank(std::size_t place) { return "rank " + std::to_string(place) + ": "; }

// "lane <number> <members> <own place>": the number is the fabric's business.
std::string ticket_of(std::uint64_t number, std::size_t members, int place);
// The number in the ticket of the member at `place`. Throws InvalidArgument if the ticket is
// damaged or speaks of another lane.
std::uint64_t parse_ticket(const std::string& ticket, std::size_t place, std::size_t members);

}  // namespace weft
