#include "errors.h"

#include <c10/util/Exception.h>

#include "symmetric_pool.h"

namespace weft::torch_adapter {

namespace {

template <typename Error>
std::exception_ptr as(const std::exception& error) {
  return std::make_exception_ptr(Error({"weft", __FILE__, __LINE__}, error.what()));
}

}  // namespace

std::exception_ptr translated(const std::exception_ptr& thrown) {
  if (!thrown) return nullptr;
  try {
    std::rethrow_exception(thrown);
  } catch (const InvalidArgument& error) {
    return std::make_exception_ptr(BadArgument(error.what()));
  } catch (const Unsupported& error) {
    return as<c10::NotImplementedError>(error);
  } catch (const InvalidPlan& error) {
    return as<c10::Error>(error);
  } catch (const InternalError& error) {
    return as<c10::Error>(error);
  } catch (const Error& error) {
    SymmetricPool::instance().distrust();
    return as<c10::DistBackendError>(error);
  } catch (...) {
    return thrown;
  }
}

}  // namespace weft::torch_adapter
