// Python's door to the kernels: checks shapes and indices, releases the GIL, does no arithmetic.
#include "bindings/bind.hpp"

namespace {

bool cpu_supports_x86_64_v3() {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

}  // namespace

NB_MODULE(HYPERLOCAL_MODULE, m) {
  using namespace hyperlocal::bindings;
  m.def("cpu_supports_x86_64_v3", &cpu_supports_x86_64_v3);
  bind_rows(m);
  bind_lifted(m);
  bind_dual(m);
  bind_anchor_descent(m);
  bind_sgd(m);
  bind_nearest(m);
  bind_neighborhood(m);
  bind_pegasos(m);
  bind_trees(m);
  bind_latent(m);
}
