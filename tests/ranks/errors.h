// Errors as texts, so that one rank may tell the others what it threw.
#pragma once

#include <exception>
#include <string>

namespace weft::testing {

// Empty for null.
std::string text_of_error(const std::exception_ptr& error);
// The same error again: of the same type if it is one of Weft's, else a std::runtime_error.
std::exception_ptr error_of_text(const std::string& text);

}  // namespace weft::testing
