// A model of hyperlocal: `const model = await load(); model.predict(row)`.

const CLASSES = "CLASSES";
const WASM = "WASM";

/** The model: classes, nFeatures, decisionFunction(row), predict(row), explain(row, column). */
export async function load() {
  const bytes = Uint8Array.from(atob(WASM), (letter) => letter.charCodeAt(0));
  // The model calls nothing outside; what the compiler adds for the heap is never called.
  const missing = new Proxy({}, { get: () => () => 0 });
  const imports = new Proxy({}, { get: () => missing });
  const wasm = (await WebAssembly.instantiate(bytes, imports)).instance.exports;
  const floats = (place, length) => new Float32Array(wasm.memory.buffer, place, length);
  const nFeatures = wasm.n_features();
  const row = floats(wasm.row_place(), nFeatures);
  const scores = floats(wasm.scores_place(), wasm.n_scores());
  const contributions = floats(wasm.contributions_place(), nFeatures);

  function set(values) {
    if (values.length !== nFeatures) {
      throw new RangeError(`a row has ${nFeatures} features, not ${values.length}`);
    }
    row.set(values);
  }

  function decisionFunction(values) {
    set(values);
    wasm.score();
    return Array.from(scores);
  }

  function predict(values) {
    const found = decisionFunction(values);
    if (found.length === 1) return CLASSES[found[0] > 0 ? 1 : 0];
    return CLASSES[found.indexOf(Math.max(...found))];
  }

  function explain(values, column) {
    set(values);
    const constant = wasm.explain(column);
    return { contributions: Array.from(contributions), constant };
  }

  return { classes: CLASSES, nFeatures, decisionFunction, predict, ...(wasm.explain && { explain }) };
}
