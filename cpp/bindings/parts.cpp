#include "parts.hpp"

#include <cstdint>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/checks.hpp"

namespace hyperlocal::bindings {

namespace {

template <class T>
void bind_makers(nb::module_& m) {
  def_maker(m, "parts_memory",
            args("weights"_array, "alpha"_array, "active"_array, "stretches"_array, "users"_array),
            [](Array<T, 4> weights, Array<T, 3> alpha, Array<std::uint8_t, 3> active,
               Matrix<const T> stretches, Matrix<const std::uint8_t> users) {
              const Index n_parts = size(weights, 0), n_columns = size(weights, 2);
              const Index n_rows = size(alpha, 1);
              require_size("weights", n_parts);
              require_shape("alpha", alpha, n_parts, n_rows, n_columns);
              require_shape("active", active, n_parts, n_rows, n_columns);
              const Index n_blocks = size(stretches, 1), n_padded = size(weights, 1);
              require_shape("stretches", stretches, n_parts, n_blocks);
              require_shape("users", users, n_parts, n_blocks);
              require_between("blocks of weights", n_padded, n_blocks, largest_size);
              return PartsMemory<T>{weights.data(), alpha.data(), active.data(),   stretches.data(),
                                    users.data(),   n_parts,      n_rows,          n_columns,
                                    n_blocks,       n_padded,     size(weights, 3)};
            });
  def_maker(
      m, "parts_epoch",
      args("state"_a, "memory"_a, "order"_array, "starts"_array, "n_rounds"_a, "n_threads"_a,
           "reports"_array),
      [](const DualState<T>& state, const PartsMemory<T>& memory, Vector<const Index> order,
         Vector<const Index> starts, Index n_rounds, Index n_threads, Matrix<double> reports) {
        const DualProblem<T>& problem = state.problem;
        const Lifted<T>& lifted = problem.lifted;
        require(problem.n_groups() == 1, "state must have one group of columns");
        require(memory.n_rows == lifted.n_rows() && memory.n_columns == problem.n_columns &&
                    memory.n_blocks == lifted.n_blocks() &&
                    memory.block_width == lifted.block_width(),
                "memory must be for as many rows and weights as the state has");
        require_size("n_rounds", n_rounds);
        require_size("n_threads", n_threads);
        const Visits visits = checked_visits(order, lifted.n_rows());
        require_starts("starts", starts, memory.n_parts, visits.size);
        static_assert(sizeof(ColumnReport) == 4 * sizeof(double));
        require_shape("reports", reports, memory.n_parts, 4);
        return new PartsEpoch<T>(state, memory, visits.rows, starts.data(), n_rounds, n_threads,
                                 reinterpret_cast<ColumnReport*>(reports.data()));
      });
}

}  // namespace

template <class T>
void bind_parts(nb::module_& m) {
  kernel_class<PartsMemory, T>(m, "PartsMemory");
  auto epoch_class = kernel_class<PartsEpoch, T>(m, "PartsEpoch");
  def(epoch_class, "run", args("thread"_a), [](PartsEpoch<T>& epoch, Index thread) {
    try {
      require_between("thread", thread, Index(0), epoch.n_threads() - 1);
    } catch (...) {
      epoch.cancel();  // the other threads would wait for this one
      throw;
    }
    nb::gil_scoped_release release;
    return epoch.run(thread);
  });
  epoch_class.def("cancel", &PartsEpoch<T>::cancel);
  epoch_class.def("excess", &PartsEpoch<T>::excess);
  def(m, "stretch_codes",
      args("lifted"_a, "squared_norms"_array, "part_of"_array, "stretches"_array, "begin"_a,
           "end"_a, "gate"_array, "norms"_array),
      [](const Lifted<T>& lifted, Vector<const T> squared_norms, Vector<const std::uint8_t> part_of,
         Matrix<const T> stretches, Index begin, Index end, Matrix<T> gate, Vector<T> norms) {
        const Index n = lifted.n_rows();
        const Range range = checked_range("begin, end", n, begin, end);
        require_shape("squared_norms", squared_norms, n);
        require_shape("part_of", part_of, n);
        require_shape("stretches", stretches, any_size, lifted.n_blocks());
        require_shape("gate", gate, n, lifted.codes().k);
        require_shape("norms", norms, n);
        require_indices_at("part_of", part_of.data() + range.begin, range.size(),
                           size(stretches, 0));
        nb::gil_scoped_release release;
        stretch_codes(lifted, squared_norms.data(), part_of.data(), stretches.data(), range,
                      gate.data(), norms.data());
      });
  bind_makers<T>(m);
}

HYPERLOCAL_BOTH_PRECISIONS(bind_parts);

}  // namespace hyperlocal::bindings
