// Where Python calls the kernels: checks shapes and indices, releases the GIL, does no arithmetic.
#include "bindings/bind.hpp"

namespace hyperlocal::bindings {

namespace {

bool cpu_supports_x86_64_v3() {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

template <class T>
void bind_kernels(nanobind::module_& m) {
  bind_rows<T>(m);
  bind_lifted<T>(m);
  bind_dual<T>(m);
  bind_parts<T>(m);
  bind_scorer<T>(m);
  bind_anchor_descent<T>(m);
  bind_sgd<T>(m);
  bind_nearest<T>(m);
  bind_neighborhood<T>(m);
  bind_pegasos<T>(m);
  bind_trees<T>(m);
  bind_latent<T>(m);
}

}  // namespace

}  // namespace hyperlocal::bindings

NB_MODULE(HYPERLOCAL_MODULE, m) {
  using namespace hyperlocal::bindings;
  m.attr("INSTRUCTION_SET") = HYPERLOCAL_INSTRUCTION_SET;
  m.def("cpu_supports_x86_64_v3", &cpu_supports_x86_64_v3);
  bind_options(m);
  bind_gate_paths(m);
  bind_tree_paths(m);
  bind_kernels<float>(m);
  bind_kernels<double>(m);
}
