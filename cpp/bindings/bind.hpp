// Each of these adds one kernel's names to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace hyperlocal::bindings {

void bind_rows(nanobind::module_& m);
void bind_lifted(nanobind::module_& m);
void bind_dual(nanobind::module_& m);
void bind_anchor_descent(nanobind::module_& m);
void bind_sgd(nanobind::module_& m);
void bind_nearest(nanobind::module_& m);
void bind_neighborhood(nanobind::module_& m);
void bind_pegasos(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
void bind_latent(nanobind::module_& m);

}  // namespace hyperlocal::bindings
