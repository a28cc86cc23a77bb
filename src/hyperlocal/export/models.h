/* What ends a model: scores of local models, of trees, and of latent models. */

/* ---- local: the scores of the active linear models, weighted; coef has a row per model and
 * column, intercepts likewise (or none), shared intercepts one per column (or none) ---- */

/* Divide the gate's weights by the length of the lifted row. */
static inline void hl_normalize(float* gate, int k, const float* phi, int n, float bias) {
  float of_gate = 0.0f, of_row = bias * bias;
  for (int i = 0; i < k; ++i) of_gate += gate[i] * gate[i];
  for (int i = 0; i < n; ++i) of_row += phi[i] * phi[i];
  const float length = sqrtf(of_gate * of_row);
  for (int i = 0; i < k; ++i) gate[i] = length > 0.0f ? gate[i] / length : 0.0f;
}

static inline void hl_local(const float* phi, int n, const int* near, const float* gate, int k,
                            hl_table coef, const float* intercepts, const float* shared,
                            int n_columns, float* scores) {
  for (int c = 0; c < n_columns; ++c) {
    scores[c] = shared ? shared[c] : 0.0f;
    for (int i = 0; i < k; ++i) {
      const int model = near[i] * n_columns + c;
      const float intercept = intercepts ? intercepts[model] : 0.0f;
      scores[c] += gate[i] * (hl_dot(coef, model, phi, n) + intercept);
    }
  }
}

static inline void hl_pull_local(const float* weights, const float* phi, int n, const int* near,
                                 const float* gate, int k, hl_table coef, const float* intercepts,
                                 const float* shared, int n_columns, float* out, float* constant) {
  (void)phi;
  for (int c = 0; c < n_columns; ++c) {
    if (weights[c] == 0.0f) continue;
    *constant += weights[c] * (shared ? shared[c] : 0.0f);
    for (int i = 0; i < k; ++i) {
      const int model = near[i] * n_columns + c;
      const float factor = weights[c] * gate[i];
      hl_add_row(coef, model, factor, out, n);
      *constant += factor * (intercepts ? intercepts[model] : 0.0f);
    }
  }
}

/* ---- tree: the nodes on the row's path have the weights tanh(gate · x) ---- */

static inline float hl_affine(hl_table table, int row, const float* x, int n) {
  return hl_dot(table, row, x, n) + hl_last(table, row);
}

static inline int hl_next(hl_table routes, int first, int node, const float* x, int n) {
  return 2 * node + (hl_affine(routes, first + node, x, n) > 0.0f ? 1 : 2);
}

static inline void hl_tree(const float* x, int n, hl_table routes, hl_table gates, hl_table models,
                           int depth, int n_trees, int n_columns, float* scores) {
  const int n_nodes = (2 << depth) - 1, n_routes = (1 << depth) - 1;
  for (int tree = 0; tree < n_trees; ++tree) {
    for (int c = 0; c < n_columns; ++c) scores[tree * n_columns + c] = 0.0f;
    for (int level = 0, node = 0; level <= depth; ++level) {
      const int place = tree * n_nodes + node;
      const float gate = tanhf(hl_affine(gates, place, x, n));
      for (int c = 0; c < n_columns; ++c) {
        const float score = hl_affine(models, place * n_columns + c, x, n);
        scores[tree * n_columns + c] += gate * score;
      }
      if (level < depth) node = hl_next(routes, tree * n_routes, node, x, n);
    }
  }
}

static inline void hl_pull_tree(const float* weights, const float* x, int n, hl_table routes,
                                hl_table gates, hl_table models, int depth, int n_trees,
                                int n_columns, float* out, float* constant) {
  const int n_nodes = (2 << depth) - 1, n_routes = (1 << depth) - 1;
  for (int tree = 0; tree < n_trees; ++tree) {
    for (int level = 0, node = 0; level <= depth; ++level) {
      const int place = tree * n_nodes + node;
      const float gate = tanhf(hl_affine(gates, place, x, n));
      for (int c = 0; c < n_columns; ++c) {
        const float factor = gate * weights[tree * n_columns + c];
        hl_add_row(models, place * n_columns + c, factor, out, n);
        *constant += factor * hl_last(models, place * n_columns + c);
      }
      if (level < depth) node = hl_next(routes, tree * n_routes, node, x, n);
    }
  }
}

/* ---- latent: the q-norm of the positive scores of a class's models; of two classes the
 * difference. Row c * n_models + m is model m of class c; products has n_models numbers ---- */

static inline float hl_positive_norm(const float* x, int n, hl_table models, int first,
                                     int n_models, float exponent, float* products) {
  float largest = FLT_MIN, sum = 0.0f;
  for (int m = 0; m < n_models; ++m) {
    products[m] = fmaxf(hl_affine(models, first + m, x, n), 0.0f);
    largest = fmaxf(largest, products[m]);
  }
  for (int m = 0; m < n_models; ++m) sum += powf(products[m] / largest, exponent);
  return largest * powf(sum, 1.0f / exponent);
}

static inline void hl_latent(const float* x, int n, hl_table models, int n_models, int n_classes,
                             float exponent, float* products, float* scores) {
  float first = 0.0f;
  for (int c = 0; c < n_classes; ++c) {
    const float norm = hl_positive_norm(x, n, models, c * n_models, n_models, exponent, products);
    if (n_classes > 2)
      scores[c] = norm;
    else if (c == 0)
      first = norm;
    else
      scores[0] = norm - first;
  }
}

static inline void hl_pull_latent(const float* weights, const float* x, int n, hl_table models,
                                  int n_models, int n_classes, float exponent, float* products,
                                  float* out, float* constant) {
  for (int c = 0; c < n_classes; ++c) {
    const float own = n_classes > 2 ? weights[c] : (c == 0 ? -weights[0] : weights[0]);
    const int first = c * n_models;
    const float norm = hl_positive_norm(x, n, models, first, n_models, exponent, products);
    for (int m = 0; m < n_models; ++m) {
      if (own == 0.0f || products[m] <= 0.0f) continue;
      const float factor = own * powf(products[m] / norm, exponent - 1.0f);
      hl_add_row(models, first + m, factor, out, n);
      *constant += factor * hl_last(models, first + m);
    }
  }
}
