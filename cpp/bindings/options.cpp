#include <cmath>

#include "anchor_descent.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "cached_svms.hpp"
#include "coding.hpp"
#include "local_deep.hpp"
#include "pegasos.hpp"
#include "sgd.hpp"

namespace hyperlocal::bindings {

namespace {

void bind_enumerations(nb::module_& m) {
  nb::enum_<Coding>(m, "Coding")
      .value("hard", Coding::hard)
      .value("soft", Coding::soft)
      .value("inverse_distance", Coding::inverse_distance)
      .value("lle", Coding::lle)
      .value("llc", Coding::llc)
      .value("lcc", Coding::lcc);
  nb::enum_<Loss>(m, "Loss")
      .value("hinge", Loss::hinge)
      .value("squared_hinge", Loss::squared_hinge)
      .value("log", Loss::log);
  nb::enum_<Kernel>(m, "Kernel")
      .value("linear", Kernel::linear)
      .value("poly", Kernel::poly)
      .value("rbf", Kernel::rbf);
  nb::enum_<Coupling>(m, "Coupling")
      .value("one_vs_rest", Coupling::one_vs_rest)
      .value("crammer_singer", Coupling::crammer_singer)
      .value("multinomial", Coupling::multinomial)
      .value("regression", Coupling::regression);
}

// Given by keywords: the kernels that take them check their values.
void bind_settings(nb::module_& m) {
  nb::class_<CodingOptions>(m, "CodingOptions")
      .def(nb::init<Coding, double, double, double>(), nb::kw_only(), "coding"_a, "beta"_a,
           "ridge"_a, "locality"_a);
  nb::class_<NeighborhoodOptions>(m, "NeighborhoodOptions")
      .def(nb::init<Kernel, double, Index, double, double, Index>(), nb::kw_only(), "kernel"_a,
           "sigma"_a, "degree"_a, "coef0"_a, "tol"_a, "max_steps"_a);
  nb::class_<SgdSchedule>(m, "SgdSchedule")
      .def(nb::init<double, double, Index, bool>(), nb::kw_only(), "lambda_"_a, "t0"_a, "skip"_a,
           "decay_bias"_a);
  nb::class_<PegasosSchedule>(m, "PegasosSchedule")
      .def(nb::init<double, double, Index>(), nb::kw_only(), "lambda_"_a, "radius"_a = INFINITY,
           "batch_size"_a = 1);
  nb::class_<Routing>(m, "Routing")
      .def(nb::init<double, bool>(), nb::kw_only(), "sharpness"_a, "hard"_a);
  nb::class_<AnchorEpochOptions>(m, "AnchorEpochOptions")
      .def(nb::init<double, Index, Index>(), nb::kw_only(), "own_share"_a, "batch_size"_a,
           "n_threads"_a = 1);
}

// Arrays that are float64 for either precision of the rows.
void bind_arrays(nb::module_& m) {
  nb::class_<AnchorMotion>(m, "AnchorMotion");
  def_maker(m, "anchor_motion", args("momentum"_array, "spread"_array, "rates"_array, "n_moves"_a),
            [](Matrix<double> momentum, Vector<double> spread, Vector<const double> rates,
               Index n_moves) {
              require_shape("spread", spread, size(momentum, 0));
              require(n_moves >= 0, "n_moves must not be negative");
              return AnchorMotion{momentum.data(),   spread.data(),     rates.data(), n_moves,
                                  size(momentum, 0), size(momentum, 1), size(rates)};
            });
  nb::class_<TrainedSvms>(m, "TrainedSvms");
  def_maker(m, "trained_svms",
            args("scales"_array, "starts"_array, "classes"_array, "beta"_array, "bias"_array),
            [](Vector<const double> scales, Vector<const Index> starts, Vector<Column> classes,
               Matrix<double> beta, Vector<double> bias) {
              const Index n = size(scales), n_columns = size(classes), k = size(beta, 1);
              require_starts("starts", starts, n, n_columns);
              require_shape("beta", beta, n_columns, k);
              require_shape("bias", bias, n_columns);
              return TrainedSvms{starts.data(), classes.data(),
                                 beta.data(),   bias.data(),
                                 scales.data(), n,
                                 n_columns,     k};
            });
}

}  // namespace

void bind_options(nb::module_& m) {
  bind_enumerations(m);
  bind_settings(m);
  bind_arrays(m);
}

}  // namespace hyperlocal::bindings
