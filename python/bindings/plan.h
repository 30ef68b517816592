// The shared parts of the files about plans.
#pragma once

#include <string>

#include "bindings.h"
#include "param.h"
#include "weft/builder.h"
#include "weft/error.h"

// As the arguments of channels say it. Throws InvalidPlan for both.
inline weft::Width width_of(bool wide, bool narrow) {
  if (wide && narrow) throw weft::InvalidPlan("a channel is wide or narrow: give one of them");
  return wide ? weft::Width::kWide : narrow ? weft::Width::kNarrow : weft::Width::kPlain;
}

// Parts of bind_plan.
void bind_builder(nb::module_& m);
void bind_algorithms(nb::module_& m);

// A builder as Python sees it: its own, or the one that an algorithm is called with, which
// is gone when that call returns. One thread.
class PyBuilder {
 public:
  PyBuilder(int rank, weft::PlanShape shape)
      : own_(std::make_unique<weft::Builder>(rank, std::move(shape))), used_(own_.get()) {}
  explicit PyBuilder(weft::Builder& lent) : used_(&lent) {}

  weft::Builder& operator*() const {
    if (used_ == nullptr)
      throw weft::InvalidPlan(
          "a builder is used after its algorithm has returned: write all "
          "steps before that");
    return *used_;
  }
  weft::Builder* operator->() const { return &**this; }
  void revoke() { used_ = nullptr; }

 private:
  std::unique_ptr<weft::Builder> own_;
  weft::Builder* used_;
};
