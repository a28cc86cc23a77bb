// Each of these adds one kernel's names to the module, for one precision.
#pragma once

#include <nanobind/nanobind.h>

namespace hyperlocal::bindings {

// Enumerations and options, which are the same for both precisions.
void bind_options(nanobind::module_& m);
// In double precision alone.
void bind_gate_paths(nanobind::module_& m);
void bind_tree_paths(nanobind::module_& m);

template <class T>
void bind_rows(nanobind::module_& m);
template <class T>
void bind_lifted(nanobind::module_& m);
template <class T>
void bind_dual(nanobind::module_& m);
template <class T>
void bind_parts(nanobind::module_& m);
template <class T>
void bind_scorer(nanobind::module_& m);
template <class T>
void bind_anchor_descent(nanobind::module_& m);
template <class T>
void bind_sgd(nanobind::module_& m);
template <class T>
void bind_nearest(nanobind::module_& m);
template <class T>
void bind_neighborhood(nanobind::module_& m);
template <class T>
void bind_pegasos(nanobind::module_& m);
template <class T>
void bind_trees(nanobind::module_& m);
template <class T>
void bind_latent(nanobind::module_& m);

// At the end of a file: both precisions of what it defines.
#define HYPERLOCAL_BOTH_PRECISIONS(bind)            \
  template void bind<float>(nanobind::module_ & m); \
  template void bind<double>(nanobind::module_ & m)

}  // namespace hyperlocal::bindings
