/* The steps that a model is made of, for one row. No heap, no state, C99.
 *
 * A step has a function that computes its output, and where its output is linear in its input at a
 * row, one that turns weights on the output into weights on the input ("pull"). A pull adds to the
 * weights on the input and to the constant, so several may pull to the same input.
 */

/* Rows of numbers: row r is values[r * width ...] times scales[r]; no scales: times 1. */
typedef struct {
  const hl_number* values;
  const float* scales;
  int width;
} hl_table;

static inline float hl_scale_of(hl_table table, int row) {
  return table.scales ? table.scales[row] : 1.0f;
}

/* row · x; the row may be longer than x. */
static inline float hl_dot(hl_table table, int row, const float* x, int n) {
  const hl_number* values = table.values + (long)row * table.width;
  /* Four sums, since an addition waits for the one before it. */
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int j = 0; j < 4; ++j) sums[j] += (float)values[i + j] * x[i + j];
  }
  for (; i < n; ++i) sums[0] += (float)values[i] * x[i];
  return (sums[0] + sums[1] + sums[2] + sums[3]) * hl_scale_of(table, row);
}

/* out += factor * row */
static inline void hl_add_row(hl_table table, int row, float factor, float* out, int n) {
  const hl_number* values = table.values + (long)row * table.width;
  factor *= hl_scale_of(table, row);
  for (int i = 0; i < n; ++i) out[i] += factor * (float)values[i];
}

/* The number at the end of a row: the weight of the constant 1. */
static inline float hl_last(hl_table table, int row) {
  const long end = (long)(row + 1) * table.width - 1;
  return (float)table.values[end] * hl_scale_of(table, row);
}

static inline float hl_distance(hl_table table, int row, const float* x) {
  const hl_number* values = table.values + (long)row * table.width;
  const float scale = hl_scale_of(table, row);
  float sum = 0.0f;
  for (int i = 0; i < table.width; ++i) {
    const float gap = (float)values[i] * scale - x[i];
    sum += gap * gap;
  }
  return sum;
}

/* ---- scale: x * factor + shift; n_factors is n, or 1 for all features ---- */

static inline void hl_scale(const float* x, int n, const float* factor, const float* shift,
                            int n_factors, float* out) {
  for (int i = 0; i < n; ++i) out[i] = x[i] * factor[i % n_factors] + shift[i % n_factors];
}

static inline void hl_pull_scale(const float* weights, const float* x, int n, const float* factor,
                                 const float* shift, int n_factors, float* out, float* constant) {
  (void)x;
  for (int i = 0; i < n; ++i) {
    out[i] += weights[i] * factor[i % n_factors];
    *constant += weights[i] * shift[i % n_factors];
  }
}

/* ---- matrix: the rows of a table times x, plus shift ---- */

static inline void hl_matrix(const float* x, int n, hl_table matrix, const float* shift, int n_out,
                             float* out) {
  for (int i = 0; i < n_out; ++i) out[i] = hl_dot(matrix, i, x, n) + shift[i];
}

static inline void hl_pull_matrix(const float* weights, const float* x, int n, hl_table matrix,
                                  const float* shift, int n_out, float* out, float* constant) {
  (void)x;
  for (int i = 0; i < n_out; ++i) {
    hl_add_row(matrix, i, weights[i], out, n);
    *constant += weights[i] * shift[i];
  }
}

/* ---- norm: x over its length; order 1, 2, or 0 for the largest absolute value ---- */

static inline float hl_length(const float* x, int n, int order) {
  float length = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float size = fabsf(x[i]);
    length = order == 0 ? fmaxf(length, size) : length + (order == 1 ? size : size * size);
  }
  length = order == 2 ? sqrtf(length) : length;
  return length > 0.0f ? length : 1.0f;
}

static inline void hl_norm(const float* x, int n, int order, float* out) {
  const float length = hl_length(x, n, order);
  for (int i = 0; i < n; ++i) out[i] = x[i] / length;
}

static inline void hl_pull_norm(const float* weights, const float* x, int n, int order, float* out,
                                float* constant) {
  (void)constant;
  const float length = hl_length(x, n, order);
  for (int i = 0; i < n; ++i) out[i] += weights[i] / length;
}

/* ---- clip: between 0 and 1 ---- */

static inline void hl_clip(const float* x, int n, float* out) {
  for (int i = 0; i < n; ++i) out[i] = fminf(fmaxf(x[i], 0.0f), 1.0f);
}

static inline void hl_pull_clip(const float* weights, const float* x, int n, float* out,
                                float* constant) {
  for (int i = 0; i < n; ++i) {
    if (x[i] >= 0.0f && x[i] < 1.0f) {
      out[i] += weights[i];
    } else if (x[i] > 0.0f) {
      *constant += weights[i];
    }
  }
}

/* ---- columns: some of the features; nothing: none of them ---- */

static inline void hl_columns(const float* x, int n, const int* columns, int n_out, float* out) {
  (void)n;
  for (int i = 0; i < n_out; ++i) out[i] = x[columns[i]];
}

static inline void hl_pull_columns(const float* weights, const float* x, int n, const int* columns,
                                   int n_out, float* out, float* constant) {
  (void)x, (void)n, (void)constant;
  for (int i = 0; i < n_out; ++i) out[columns[i]] += weights[i];
}

static inline void hl_nothing(const float* x, int n, float* out) {
  (void)x, (void)n, (void)out;
}

static inline void hl_pull_nothing(const float* weights, const float* x, int n, float* out,
                                   float* constant) {
  (void)weights, (void)x, (void)n, (void)out, (void)constant;
}

/* ---- copy: for outputs of several steps beside each other ---- */

static inline void hl_copy(const float* x, int n, float* out) {
  for (int i = 0; i < n; ++i) out[i] = x[i];
}

static inline void hl_pull_copy(const float* weights, int n, float* out) {
  for (int i = 0; i < n; ++i) out[i] += weights[i];
}

/* ---- quadratic: √2 z_i, then z_i² and √2 z_i z_j for i < j < n_paired, of z = factor * x ---- */

#define hl_ROOT_2 1.41421356f

static inline void hl_quadratic(const float* x, int n, float factor, int n_paired, float* out) {
  for (int i = 0; i < n; ++i) *out++ = hl_ROOT_2 * factor * x[i];
  for (int i = 0; i < n_paired; ++i) {
    *out++ = factor * x[i] * factor * x[i];
    for (int j = i + 1; j < n_paired; ++j) *out++ = hl_ROOT_2 * factor * x[i] * factor * x[j];
  }
}

/* Half of a product's weight goes to each of its two features. */
static inline void hl_pull_quadratic(const float* weights, const float* x, int n, float factor,
                                     int n_paired, float* out, float* constant) {
  (void)constant;
  for (int i = 0; i < n; ++i) out[i] += hl_ROOT_2 * factor * *weights++;
  for (int i = 0; i < n_paired; ++i) {
    out[i] += *weights++ * factor * factor * x[i];
    for (int j = i + 1; j < n_paired; ++j) {
      const float half = *weights++ * factor * factor / hl_ROOT_2;
      out[i] += half * x[j];
      out[j] += half * x[i];
    }
  }
}

/* ---- additive: features of an additive kernel; all of one frequency, then the next ---- */

static inline void hl_additive(const float* x, int n, const float* amplitudes,
                               const float* frequencies, int n_frequencies, float* out) {
  for (int i = 0; i < n; ++i) {
    const float size = fabsf(x[i]);
    const float root = x[i] < 0.0f ? -sqrtf(size) : sqrtf(size);
    const float phase = size > 0.0f ? logf(size) : 0.0f;
    out[i] = amplitudes[0] * root;
    for (int f = 1; f < n_frequencies; ++f) {
      out[(2 * f - 1) * n + i] = amplitudes[f] * root * cosf(frequencies[f] * phase);
      out[2 * f * n + i] = amplitudes[f] * root * sinf(frequencies[f] * phase);
    }
  }
}

/* ---- gaussian: exp(-gamma |x - center|²) ---- */

static inline void hl_gaussian(const float* x, int n, hl_table centers, int n_centers, float gamma,
                               float* out) {
  (void)n;
  for (int i = 0; i < n_centers; ++i) out[i] = expf(-gamma * hl_distance(centers, i, x));
}

/* ---- gate: the nearest anchors and their weights, which sum to 1 ---- */

/* One model that is always active. */
static inline void hl_always(int* near, float* weights) {
  near[0] = 0;
  weights[0] = 1.0f;
}

/* One level of a gate of several: its anchors begin at `first`, its weights get unit length. */
static inline void hl_level(const int* near, const float* weights, int k, int first, int* out_near,
                            float* out_weights) {
  float length = 0.0f;
  for (int i = 0; i < k; ++i) length += weights[i] * weights[i];
  length = sqrtf(length);
  for (int i = 0; i < k; ++i) {
    out_near[i] = near[i] + first;
    out_weights[i] = weights[i] / length;
  }
}

/* The k nearest rows of a table, nearest first, and their squared distances. */
static inline void hl_nearest(const float* x, hl_table anchors, int n_anchors, int k, int* near,
                              float* squared) {
  int n = 0;
  for (int anchor = 0; anchor < n_anchors; ++anchor) {
    const float distance = hl_distance(anchors, anchor, x);
    if (n == k && distance >= squared[k - 1]) continue;
    int place = n < k ? n++ : k - 1;
    for (; place > 0 && squared[place - 1] > distance; --place) {
      near[place] = near[place - 1];
      squared[place] = squared[place - 1];
    }
    near[place] = anchor;
    squared[place] = distance;
  }
}

static inline void hl_sum_to_one(float* weights, int k) {
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += weights[i];
  for (int i = 0; i < k; ++i) weights[i] /= sum;
}

/* In: squared distances; out: weights. */
static inline void hl_soft(float* weights, int k, float beta) {
  const float least = weights[0];
  for (int i = 0; i < k; ++i) weights[i] = expf(-beta * (weights[i] - least));
  hl_sum_to_one(weights, k);
}

static inline void hl_inverse_distance(float* weights, int k) {
  const float least = fmaxf(weights[0], FLT_MIN);
  for (int i = 0; i < k; ++i) weights[i] = sqrtf(least / fmaxf(weights[i], FLT_MIN));
  hl_sum_to_one(weights, k);
}

/* The weights that rebuild x from its nearest anchors best (LLE; with locality > 0, LLC):
 * (G + diagonal) w = 1 with the products G of the anchors' differences to x, by elimination.
 * gram has k * k numbers. */
static inline void hl_reconstruction(const float* x, hl_table anchors, const int* near,
                                     float* weights, int k, float ridge, float locality, float beta,
                                     float* gram) {
  float mean = 0.0f;
  for (int a = 0; a < k; ++a) {
    for (int b = 0; b <= a; ++b) {
      const hl_number* one = anchors.values + (long)near[a] * anchors.width;
      const hl_number* other = anchors.values + (long)near[b] * anchors.width;
      const float scale = hl_scale_of(anchors, near[a]);
      const float other_scale = hl_scale_of(anchors, near[b]);
      float sum = 0.0f;
      for (int i = 0; i < anchors.width; ++i) {
        sum += ((float)one[i] * scale - x[i]) * ((float)other[i] * other_scale - x[i]);
      }
      gram[a * k + b] = gram[b * k + a] = sum;
    }
    mean += gram[a * k + a] / (float)k;
  }
  mean = mean > 0.0f ? mean : 1.0f;
  const float farthest = weights[k - 1];
  for (int a = 0; a < k; ++a) {
    const float near_penalty = locality * expf(2.0f * beta * (weights[a] - farthest));
    gram[a * k + a] += mean * (ridge + near_penalty);
  }
  for (int a = 0; a < k; ++a) weights[a] = 1.0f;
  for (int a = 0; a < k; ++a) {
    for (int b = a + 1; b < k; ++b) {
      const float factor = gram[b * k + a] / gram[a * k + a];
      for (int c = a; c < k; ++c) gram[b * k + c] -= factor * gram[a * k + c];
      weights[b] -= factor * weights[a];
    }
  }
  for (int a = k - 1; a >= 0; --a) {
    for (int b = a + 1; b < k; ++b) weights[a] -= gram[a * k + b] * weights[b];
    weights[a] /= gram[a * k + a];
  }
  hl_sum_to_one(weights, k);
}
