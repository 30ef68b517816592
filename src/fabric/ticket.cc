#include "fabric/ticket.h"

#include <sstream>

#include "weft/error.h"

namespace weft {

std::string ticket_of(std::uint64_t number, std::size_t members, int place) {
  std::ostringstream out;
  out << "lane " << number << ' ' << members << ' ' << place;
  return out.str();
}

namespace {

std::uint64_t parse_ticket(const std::string& ticket, std::size_t place, std::size_t members) {
  std::istringstream in(ticket);
  std::string word;
  std::uint64_t number = 0;
  std::size_t their_members = 0, their_place = 0;
  if (!(in >> word >> number >> their_members >> their_place) || word != "lane") {
    throw InvalidArgument(rank(place) + "damaged ticket of a lane");
  }
  if (their_members != members || their_place != place) {
    throw InvalidArgument(rank(place) + "its lane has " + std::to_string(their_members) +
                          " members and it is number " + std::to_string(their_place) +
                          ", here they are " + std::to_string(members) +
                          "; give all ranks the same members in the same order");
  }
  return number;
}

}  // namespace

std::vector<std::uint64_t> parse_tickets(const std::vector<std::string>& tickets,
                                         const std::vector<bool>& wanted) {
  if (tickets.size() != wanted.size()) {
    throw InvalidArgument("tickets: " + std::to_string(tickets.size()) + " for a lane of " +
                          std::to_string(wanted.size()));
  }
  std::vector<std::uint64_t> numbers(tickets.size());
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    if (wanted[i]) numbers[i] = parse_ticket(tickets[i], i, tickets.size());
  }
  return numbers;
}

}  // namespace weft
