// What explanations of a tree of gates are computed from.
#pragma once

#include "tree.hpp"

namespace hyperlocal {

// One tree, and references with their constant: rows (references, stride), padded like the nodes,
// and their products with the nodes' vectors, (references, nodes, vectors).
struct TreePaths {
  TreeShape shape;
  Index n_references;
  const double *nodes, *references, *products;
};

}  // namespace hyperlocal
