// What explanations of a gated model are computed from; cpp/gate_paths.hpp states how.
#pragma once

#include "rows.hpp"

namespace hyperlocal {

// Nodes and weights of a quadrature between 0 and 1.
struct PathRule {
  const double *nodes, *weights;
  Index size;
};

struct PathOptions {
  Index n_active;
  bool is_unit;
  double factor;
  double alpha, beta;  // of ‖φ‖²
  double bias;         // B
  double tolerance;    // of f(1) − f(0), relative to the size of both
};

struct GatePaths {
  Index n_rows, n_anchors, n_columns, n_references;
  Index n_nodes;               // of the gates given
  const double* row_logits;    // (rows, anchors)
  const double* start_logits;  // (anchors, references)
  const double* row_scores;    // (rows, anchors, columns)
  const double* start_scores;  // (anchors, columns, references)
  const double* linear;        // b: (rows, anchors, columns, references); null: the change itself
  const double* squares;       // ‖u(0)‖², u(0)·u(1), ‖u(1)‖², and of p: (rows, 6, references);
                               // null: a = 1
  const double* gates;         // γ: (rows, nodes, anchors, references); null: of the logits

  // start and end are one sum where slopes do not change.
  Index width() const { return n_anchors * ((linear ? 2 : 1) + n_columns) + 4 * n_columns; }
};

// What averages over anchors are turned into contributions by: an output of feature i is
// Σ_r share_r (x_i − x_ri) (back_i w_ri + code_back_i Σ_j gate_rj anchor_ji), with
// w = Σ_j (start_j slope_j(0) + end_j slope_j(1)) + shrink · (u(0), u(1), p(0), p(1)).
struct PathFeatures {
  Index n_features, n_paired, n_rows, n_references, n_anchors, n_columns;
  bool is_curved;
  const double *rows, *starts;              // x: (rows, features), (references, features)
  const double *row_inner, *start_inner;    // u, of the same shapes
  const double *row_slopes, *start_slopes;  // (rows, anchors, columns, features), (references, …);
                                            // those of one row where slopes do not change
  const double* anchors;                    // ∂z/∂x: (anchors, features)
  const double *back, *code_back, *shares;  // (features), (features), (references)
};

}  // namespace hyperlocal
