// The distribution of scores, with what chance would give where that was fitted.

/** Fewer hits have no histogram. */
const LEAST_DRAWN = 5;

/**
 * @typedef {object} Histogram
 * @property {number[]} edges  One more than counts.
 * @property {number[]} counts
 * @property {number[]|null} expected
 * @property {string} axis
 * @property {string} counted  What the counts are of.
 * @property {string} title
 */

/**
 * Return the scores to draw: those of all targets beside their fit, or else those of the hits.
 * Few hits, and equal scores, have no distribution to look at.
 * @param {any} hits
 * @returns {Histogram|null}
 */
function countScores(hits) {
  if (hits.fit) {
    const inner = hits.fit.edges;
    return {
      edges: [inner[0] - 5, ...inner, inner.at(-1) + 5],
      counts: hits.fit.observed,
      expected: hits.fit.expected,
      axis: "z-score; the outer bars hold all beyond",
      counted: "targets",
      title: "Scores of all targets, and by chance",
    };
  }
  const values = hits.bits ?? hits.score ?? [];
  const [least, most] = bounds(values);
  if (values.length < LEAST_DRAWN || least === most) return null;
  const step = niceStep(values, 30);
  const low = Math.floor(least / step) * step;
  const count = Math.floor((most - low) / step) + 1;
  const counts = new Array(count).fill(0);
  for (const value of values) counts[Math.min(count - 1, Math.floor((value - low) / step))]++;
  const axis = hits.bits ? "bit score" : "raw score";
  const noun = hits.noun[1];
  return {
    edges: Array.from({ length: count + 1 }, (_, k) => low + k * step),
    counts,
    expected: null,
    axis,
    counted: noun,
    title: `Scores of the ${noun}`,
  };
}

/**
 * @param {ArrayLike<number>} values
 * @returns {[number, number]}
 */
function bounds(values) {
  let low = Infinity;
  let high = -Infinity;
  for (let k = 0; k < values.length; k++) {
    low = Math.min(low, values[k]);
    high = Math.max(high, values[k]);
  }
  return [low, high];
}

/**
 * @param {ArrayLike<number>} values
 * @param {number} most
 */
function niceStep(values, most) {
  const [low, high] = bounds(values);
  const rough = Math.max(1, (high - low) / most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

/**
 * Return the counts that the axis names: more of them if all are small.
 * @param {number} most
 */
function countTicks(most) {
  if (most < 20) return [1, 2, 5, 10].filter((tick) => tick <= most);
  return Array.from({ length: Math.floor(Math.log10(most) + 1e-9) + 1 }, (_, k) => 10 ** k);
}

/**
 * Draw a histogram; the counts have a logarithmic scale, on which single targets are still seen.
 * @param {Histogram} histogram
 * @param {number} width
 * @param {number} height
 */
function drawScores(histogram, width, height) {
  const { edges, counts, expected } = histogram;
  const left = 44;
  const bottom = 34;
  const top = 24;
  const right = 6;
  const most = Math.max(1, ...counts, ...(expected ?? []));
  const scale = (height - top - bottom) / Math.log10(1 + most);
  const y = (count) => height - bottom - scale * Math.log10(1 + Math.max(0, count));
  const x = (value) =>
    left + ((width - left - right) * (value - edges[0])) / (edges.at(-1) - edges[0]);
  const picture = drawing("svg", {
    class: "scores",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${histogram.title}: ${histogram.axis}`,
  });
  picture.append(drawing("text", { x: 0, y: 10 }, `${histogram.counted}, log scale`));
  for (const tick of countTicks(most))
    picture.append(
      drawing("path", { d: `M${left} ${y(tick).toFixed(1)}H${width - right}`, class: "tick" }),
      drawing(
        "text",
        { x: left - 6, y: (y(tick) + 4).toFixed(1), "text-anchor": "end" },
        group(tick),
      ),
    );
  counts.forEach((count, k) => {
    if (count)
      picture.append(
        drawing(
          "rect",
          {
            x: x(edges[k]).toFixed(1),
            y: y(count).toFixed(1),
            width: Math.max(1, x(edges[k + 1]) - x(edges[k]) - 1).toFixed(1),
            height: (height - bottom - y(count)).toFixed(1),
            class: "bar",
          },
          drawing(
            "title",
            {},
            `${edges[k]} to ${edges[k + 1]}: ${group(count)}${expected ? `, by chance ${expected[k].toPrecision(3)}` : ""}`,
          ),
        ),
      );
  });
  if (expected) {
    const steps = expected.map(
      (count, k) =>
        `${k ? "L" : "M"}${x(edges[k]).toFixed(1)} ${y(count).toFixed(1)}H${x(edges[k + 1]).toFixed(1)}`,
    );
    picture.append(drawing("path", { d: steps.join(""), class: "expected" }));
  }
  picture.append(
    drawing("path", { d: `M${left} ${height - bottom}H${width - right}`, class: "axis" }),
  );
  for (const tick of ticks(
    edges[0],
    edges.at(-1),
    Math.max(2, width / (40 + 9 * String(edges.at(-1)).length)),
  )) {
    const anchor = x(tick) > width - 4 * String(tick).length - 4 ? "end" : "middle";
    picture.append(
      drawing(
        "text",
        {
          x: Math.min(x(tick), width - 1).toFixed(1),
          y: height - bottom + 14,
          "text-anchor": anchor,
        },
        group(tick),
      ),
    );
  }
  picture.append(
    drawing(
      "text",
      { x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" },
      histogram.axis,
    ),
  );
  return picture;
}
