// Where the hits lie in the query, and how good they are.

const MOST_DRAWN = 100;
const BIT_BOUNDS = [40, 50, 80, 200]; // those of BLAST's own overview

/**
 * Return the class of a score, from 0 to 4: by bits, or else by its part of the best raw score.
 * @param {any} hits
 * @param {number} row
 */
function gradeOf(hits, row) {
  if (!hits.bits && !hits.score) return 3;
  if (hits.bits) return BIT_BOUNDS.filter((bound) => hits.bits[row] >= bound).length;
  return Math.min(4, Math.floor((5 * hits.score[row]) / Math.max(1, hits.best)));
}

/** @param {any} hits */
function gradeNames(hits) {
  if (hits.bits) return ["< 40 bits", "40–50", "50–80", "80–200", "≥ 200"];
  return ["< 20 % of the best score", "20–40 %", "40–60 %", "60–80 %", "≥ 80 %"];
}

/**
 * Draw the best hits along the query, each in a row of its own.
 * @param {any} hits
 * @param {number} width
 * @param {(row: number) => void} onOpen
 */
function drawOverview(hits, width, onOpen) {
  const rows = Array.from({ length: hits.count }, (_, row) => row).filter(
    (row) => hits.rank[row] <= MOST_DRAWN,
  );
  const ranks = [...new Set(rows.map((row) => hits.rank[row]))];
  const pitch = ranks.length > 50 ? 3 : ranks.length > 25 ? 5 : 9;
  const top = 22;
  const height = top + pitch * ranks.length + 4;
  const inner = width - 2;
  const scale = inner / Math.max(1, hits.extent);
  const picture = drawing("svg", {
    class: "overview",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Places of ${pluralize(ranks.length, "hit", "hits")} in the query`,
  });
  const [first, last] = [hits.before, hits.before + hits.extent];
  for (const tick of ticks(first, last, Math.max(2, Math.floor(width / 90)))) {
    const place = Math.max(tick, first + 1);
    const x = 1 + scale * (place - first - 0.5);
    const anchor = x < 12 ? "start" : x > width - 20 ? "end" : "middle";
    picture.append(
      drawing("path", { d: `M${x.toFixed(1)} ${top - 5}V${height}`, class: "tick" }),
      drawing("text", { x: x.toFixed(1), y: 11, "text-anchor": anchor }, group(place)),
    );
  }
  picture.append(drawing("rect", { x: 1, y: top - 6, width: inner, height: 3, class: "query" }));
  for (const row of rows) {
    const y = top + pitch * ranks.indexOf(hits.rank[row]);
    const mark = drawing(
      "rect",
      {
        x: (1 + scale * (hits.qstart[row] - first)).toFixed(1),
        y,
        width: Math.max(1, scale * (hits.qend[row] - hits.qstart[row])).toFixed(1),
        height: pitch > 3 ? pitch - 1.5 : 2,
        class: `grade-${gradeOf(hits, row)}`,
        "data-row": row,
        click: () => onOpen(row),
      },
      drawing("title", {}, hits.describe(row)),
    );
    picture.append(mark);
  }
  return picture;
}

/** @param {any} hits */
function drawLegend(hits) {
  if (!hits.bits && !hits.score) return null;
  return element(
    "p",
    { class: "legend" },
    ...gradeNames(hits).map((name, grade) =>
      element("span", {}, element("span", { class: `swatch grade-${grade}` }), name),
    ),
  );
}
