// The text form of plans. One step a line; `parse_plan(to_text(p)) == p`.
//
//   plan allreduce/ring collective=allreduce ranks=4 input=4 output=4
//   params root=0
//   channel 0 slots=4 wide
//   rank 0
//     chunks rounds=3
//       put input[(0-1*i)%4] -> 1 on 0
//       lag 1: wait 3 on 0 for input[(3-1*i)%4]
//       lag 1: reduce! output[3], slot[0] = input[3] + slot[0]@3
//
// Grammar (spaces separate words, # starts a comment, indentation is free):
//
//   plan     = "plan" algorithm "collective=" name "ranks=" n "input=" n "output=" n
//              { "params" { name "=" value } }   { "channel" n "slots=" n [ "wide" | "narrow" ] }
//              { "rank" n { section } }                     every rank, in order
//   value    = n | word | "[" [ n { "," n } ] "]"
//   section  = ( "chunks" | "once" ) [ "rounds=" n ] { step }
//   step     = [ "lag" n ":" ] action [ "for" range ]
//   action   = "copy" operands "=" operand
//            | ( "reduce" | "reduce!" ) operands "=" ( sum | "tree(" sum ")" )
//            | "put" [ operands "=" ] operand "->" indexes "on" channel
//            | ( "signal" | "wait" | "credit" ) indexes "on" channel
//            | "flush" | "native"
//   sum      = operand { "+" operand }
//   operand  = range [ "@" rank ] | "slot[" channel "]" [ "@" rank ]
//   range    = ( "input[" | "output[" ) block [ "," blocks ] "]"
//   index    = n | [ n "+" ] "(" first ( "+" | "-" ) stride "*i)%" modulus
//
// "reduce!" is the last reduction, which scales; "tree(...)" adds up as a balanced tree. An operand
// without "@" is the own rank's. "for" is the extent; it is left out where it is the range of the
// first input or output operand, and where a step has no range. `i` is the round.
//
// Fields that an operand's buffer does not use (the range of a slot, the channel of an input) are
// not written: the builder leaves them at their defaults.
#pragma once

#include <string>

#include "weft/plan.h"

namespace weft {

std::string to_text(const Index& index);
std::string to_text(const Range& range);

}  // namespace weft
