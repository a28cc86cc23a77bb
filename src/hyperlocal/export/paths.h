/* ---- contributions: gradients averaged on the way from references to a row ---- */

/* Local models whose weights are scaled together. Logits are affine in x, scores of the second
   degree in u, which is affine in x: the features, and beside them their pieces, if the map has
   some. */
typedef struct {
  int m, n_active;
  float factor; /* the length of the weights; 0 where they sum to one */
  const float *logits, *logit_shift;           /* (numbers of x, m), (m) */
  const float *slopes, *curvature, *intercept; /* (m, scores, e), (m, scores, p, p), (m, scores) */
} hl_gated;

/* LEVELS */

typedef struct {
  const hl_gated* level;
  float logits[HL_PATH_M], logit_change[HL_PATH_M];
  float start[HL_PATH_E], change[HL_PATH_E]; /* u */
  float scores[HL_PATH_M][HL_N_SCORES], linear[HL_PATH_M][HL_N_SCORES];
  float curved[HL_PATH_M][HL_N_SCORES];
  float gate[HL_PATH_M];
  unsigned char active[HL_PATH_M];
  /* sums over the nodes, of one score: */
  float on_start[HL_PATH_M], on_end[HL_PATH_M], on_logits[HL_PATH_M], on_lengths[4];
  float along[HL_N_SCORES]; /* of all scores: the sums times the changes */
} hl_line;

/* Element v of the gradient of a local model's score, less the constant one, at u. */
static inline float hl_bent(const hl_gated* level, int j, int c, int v, const float* u) {
  const float* row = level->curvature + ((j * HL_N_SCORES + c) * HL_PATH_P + v) * HL_PATH_P;
  float sum = 0.0f;
  if (v >= HL_PATH_P) return 0.0f;
  for (int w = 0; w < HL_PATH_P; ++w) sum += row[w] * u[w];
  return sum;
}

static inline void hl_open_line(hl_line* line, const float* x0, const float* x) {
  const hl_gated* level = line->level;
  for (int v = 0; v < HL_PATH_E; ++v) {
    line->start[v] = hl_path_inner_shift[v];
    line->change[v] = 0.0f;
    for (int i = 0; i < HL_PATH_Z; ++i) {
      line->start[v] += x0[i] * hl_path_inner[i * HL_PATH_E + v];
      line->change[v] += (x[i] - x0[i]) * hl_path_inner[i * HL_PATH_E + v];
    }
  }
  for (int j = 0; j < level->m; ++j) {
    line->logits[j] = level->logit_shift[j];
    line->logit_change[j] = 0.0f;
    for (int i = 0; i < HL_PATH_Z; ++i) {
      line->logits[j] += x0[i] * level->logits[i * level->m + j];
      line->logit_change[j] += (x[i] - x0[i]) * level->logits[i * level->m + j];
    }
    for (int c = 0; c < HL_N_SCORES; ++c) {
      const float* slopes = level->slopes + (j * HL_N_SCORES + c) * HL_PATH_E;
      float score = level->intercept[j * HL_N_SCORES + c], linear = 0.0f, curved = 0.0f;
      for (int v = 0; v < HL_PATH_E; ++v) {
        const float bent = hl_bent(level, j, c, v, line->start);
        score += (slopes[v] + 0.5f * bent) * line->start[v];
        linear += (slopes[v] + bent) * line->change[v];
        curved += 0.5f * hl_bent(level, j, c, v, line->change) * line->change[v];
      }
      line->scores[j][c] = score;
      line->linear[j][c] = linear;
      line->curved[j][c] = curved;
    }
  }
}

/* The gate at t: the softmax of the largest logits. */
static inline void hl_gate_at(hl_line* line, float t) {
  const hl_gated* level = line->level;
  float top = -INFINITY, size = 0.0f;
  for (int j = 0; j < level->m; ++j) {
    line->gate[j] = line->logits[j] + t * line->logit_change[j];
    top = fmaxf(top, line->gate[j]);
  }
  for (int j = 0; j < level->m; ++j) {
    int n_larger = 0;
    for (int i = 0; i < level->m; ++i) n_larger += line->gate[i] > line->gate[j];
    line->active[j] = n_larger < level->n_active;
  }
  for (int j = 0; j < level->m; ++j) {
    line->gate[j] = line->active[j] ? expf(line->gate[j] - top) : 0.0f;
    size += level->factor > 0.0f ? line->gate[j] * line->gate[j] : line->gate[j];
  }
  size = level->factor > 0.0f ? sqrtf(size) / level->factor : size;
  for (int j = 0; j < level->m; ++j) line->gate[j] /= size;
}

/* Scores of the level at t, before they are scaled. */
static inline void hl_means_at(const hl_line* line, float t, float* means) {
  for (int c = 0; c < HL_N_SCORES; ++c) {
    means[c] = 0.0f;
    for (int j = 0; j < line->level->m; ++j)
      means[c] += line->gate[j] *
                  (line->scores[j][c] + t * (line->linear[j][c] + t * line->curved[j][c]));
  }
}

/* The scale of normalized rows at t; shrink: how it falls with u, and with the numbers paired. */
static inline float hl_scale_at(const hl_line* line, float t, float* shrink, float* away) {
  float square = 0.0f, paired = 0.0f;
  shrink[0] = shrink[1] = away[0] = away[1] = 0.0f;
  if (!HL_PATH_NORMALIZE) return 1.0f;
  for (int v = 0; v < HL_PATH_E; ++v) {
    const float u = line->start[v] + t * line->change[v];
    square += u * u;
    away[0] += u * line->change[v];
    if (v < HL_PATH_P) {
      paired += u * u;
      away[1] += u * line->change[v];
    }
  }
  square = HL_PATH_ALPHA * square + HL_PATH_BETA * paired * paired + HL_PATH_BIAS * HL_PATH_BIAS;
  if (square <= 0.0f) return 0.0f;
  shrink[0] = HL_PATH_ALPHA / square;
  shrink[1] = 2.0f * HL_PATH_BETA * paired / square;
  return 1.0f / sqrtf(square);
}

/* Sums over the nodes of a rule; returns whether the same local models were active at all. */
static inline int hl_integrate(hl_line* line, const float* rule, int n_nodes, int column) {
  const hl_gated* level = line->level;
  const float per_square =
      level->factor > 0.0f ? 1.0f / (level->factor * level->factor) : 0.0f;
  unsigned char first[HL_PATH_M] = {0};
  int stays = 1;
  for (int j = 0; j < level->m; ++j)
    line->on_start[j] = line->on_end[j] = line->on_logits[j] = 0.0f;
  for (int i = 0; i < 4; ++i) line->on_lengths[i] = 0.0f;
  for (int c = 0; c < HL_N_SCORES; ++c) line->along[c] = 0.0f;
  for (int node = 0; node < n_nodes; ++node) {
    const float t = rule[node];
    float means[HL_N_SCORES], shrink[2], away[2];
    const float size = rule[n_nodes + node] * hl_scale_at(line, t, shrink, away);
    hl_gate_at(line, t);
    hl_means_at(line, t, means);
    for (int j = 0; j < level->m; ++j) {
      if (node > 0 && line->active[j] != first[j]) stays = 0;
      if (node == 0) first[j] = line->active[j];
      line->on_start[j] += (1.0f - t) * size * line->gate[j];
      line->on_end[j] += t * size * line->gate[j];
      for (int c = 0; c < HL_N_SCORES; ++c) {
        const float score =
            line->scores[j][c] + t * (line->linear[j][c] + t * line->curved[j][c]);
        const float share = level->factor > 0.0f ? line->gate[j] * per_square : 1.0f;
        const float step = size * line->gate[j] * (score - share * means[c]);
        if (c == column) line->on_logits[j] += step;
        line->along[c] += step * line->logit_change[j] +
                          size * line->gate[j] *
                              (line->linear[j][c] + 2.0f * t * line->curved[j][c]);
      }
    }
    for (int part = 0; part < 2; ++part) {
      const float step = -size * means[column] * shrink[part];
      line->on_lengths[2 * part] += (1.0f - t) * step;
      line->on_lengths[2 * part + 1] += t * step;
      for (int c = 0; c < HL_N_SCORES; ++c)
        line->along[c] -= size * means[c] * shrink[part] * away[part];
    }
  }
  return stays;
}

/* Whether the sums miss the change of a score. */
static inline int hl_is_rough(hl_line* line) {
  float before[HL_N_SCORES], after[HL_N_SCORES], shrink[2], away[2];
  const float first = hl_scale_at(line, 0.0f, shrink, away);
  const float last = hl_scale_at(line, 1.0f, shrink, away);
  hl_gate_at(line, 0.0f);
  hl_means_at(line, 0.0f, before);
  hl_gate_at(line, 1.0f);
  hl_means_at(line, 1.0f, after);
  for (int c = 0; c < HL_N_SCORES; ++c) {
    const float one = first * before[c], other = last * after[c];
    if (fabsf(other - one - line->along[c]) > HL_PATH_TOLERANCE * (fabsf(one) + fabsf(other)))
      return 1;
  }
  return 0;
}

/* Adds what each feature adds on the way from one reference, times its share; a piece's part is
   its feature's. */
static inline void hl_add_line(const hl_gated* level, const float* x0, const float* x, float share,
                               int column, float* out) {
  hl_line line;
  float on_inner[HL_PATH_E];
  line.level = level;
  hl_open_line(&line, x0, x);
  if (hl_integrate(&line, hl_path_coarse, HL_PATH_COARSE, column) && hl_is_rough(&line))
    hl_integrate(&line, hl_path_fine, HL_PATH_FINE, column);
  for (int v = 0; v < HL_PATH_E; ++v) {
    const float end = line.start[v] + line.change[v];
    on_inner[v] = line.on_lengths[0] * line.start[v] + line.on_lengths[1] * end;
    if (v < HL_PATH_P) on_inner[v] += line.on_lengths[2] * line.start[v] + line.on_lengths[3] * end;
    for (int j = 0; j < level->m; ++j) {
      const float slope = level->slopes[(j * HL_N_SCORES + column) * HL_PATH_E + v];
      const float bent = hl_bent(level, j, column, v, line.start);
      const float more = hl_bent(level, j, column, v, line.change);
      on_inner[v] += (line.on_start[j] + line.on_end[j]) * (slope + bent) + line.on_end[j] * more;
    }
  }
  for (int i = 0; i < HL_PATH_Z; ++i) {
    const int feature = i < HL_N_FEATURES ? i : hl_path_columns[i - HL_N_FEATURES];
    float weight = 0.0f;
    for (int v = 0; v < HL_PATH_E; ++v) weight += hl_path_inner[i * HL_PATH_E + v] * on_inner[v];
    for (int j = 0; j < level->m; ++j)
      weight += level->logits[i * level->m + j] * line.on_logits[j];
    out[feature] += share * (x[i] - x0[i]) * weight;
  }
}

/* What each feature adds to a score, relative to the references; returns the rest of the score. */
static inline float hl_contributions(const float* x, int column, float* contributions) {
  float scores[HL_N_SCORES], beside[HL_PATH_Z], rest;
  for (int i = 0; i < HL_N_FEATURES; ++i) {
    contributions[i] = 0.0f;
    beside[i] = x[i];
  }
  for (int i = HL_N_FEATURES; i < HL_PATH_Z; ++i) {
    const int piece = i - HL_N_FEATURES;
    const float passed = x[hl_path_columns[piece]] * hl_path_factors[piece] + hl_path_shifts[piece];
    beside[i] = fminf(fmaxf(passed, 0.0f), 1.0f);
  }
  for (int r = 0; r < HL_PATH_R; ++r)
    for (int l = 0; l < HL_PATH_L; ++l)
      hl_add_line(&hl_path_levels[l], hl_path_references + r * HL_PATH_Z, beside,
                  hl_path_shares[r], column, contributions);
  hl_scores(x, scores);
  rest = scores[column];
  for (int i = 0; i < HL_N_FEATURES; ++i) rest -= contributions[i];
  return rest;
}
