#include "scorer.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"

namespace hyperlocal::bindings {

template <class T>
void bind_scorer(nb::module_& m) {
  auto scorer_class = kernel_class<RowScorer, T>(m, "RowScorer");
  def(scorer_class, "score", args("x"_array, "scores"_array),
      [](RowScorer<T>& scorer, Vector<const T> x, Vector<T> scores) {
        require_shape("x", x, scorer.width());
        require_shape("scores", scores, scorer.n_columns());
        return scorer.score(x.data(), scores.data());
      });
  def_maker(m, "row_scorer",
            args("row"_array, "coder"_a, "lifted"_a, "chosen"_array, "gate"_array, "weights"_array,
                 "normalize"_a),
            [](Matrix<T> row, const Coder<T>& coder, const Lifted<T>& lifted, Matrix<Column> chosen,
               Matrix<T> gate, Array<const T, 3> weights, bool normalize) {
              const Codes<T>& codes = lifted.codes();
              require_shape("row", row, 1, coder.rows.width());
              require(coder.rows.n_rows() == 1 && lifted.n_rows() == 1,
                      "coder and lifted must be of one row");
              require(codes.anchors == chosen.data() && codes.weights == gate.data(),
                      "lifted must have the codes chosen and gate");
              require_shape("chosen", chosen, 1, codes.k);
              require_shape("gate", gate, 1, codes.k);
              require(codes.k <= coder.n_anchors && coder.n_anchors == lifted.n_anchors(),
                      "coder and lifted must have the same anchors");
              require_shape("weights", weights, lifted.n_blocks(), any_size, lifted.block_width());
              require_size("weights", size(weights, 1));
              return new RowScorer<T>(row.data(), coder, lifted, chosen.data(), gate.data(),
                                      weights.data(), size(weights, 1), normalize);
            });
}

HYPERLOCAL_BOTH_PRECISIONS(bind_scorer);

}  // namespace hyperlocal::bindings
