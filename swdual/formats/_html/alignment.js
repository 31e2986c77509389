// Alignments: their rows from operations and letters, as text, and drawn.

const SKIPPED = "\\"; // a base of a translated query is skipped
const BACK = "/"; // its last base is read again
const TEXT_WIDTH = 60;

/**
 * @typedef {object} Alignment
 * @property {Array<[string, number]>} operations  M pairs, I query letters, D target letters at a gap.
 * @property {string} query  The aligned letters.
 * @property {string} target
 * @property {number} qstart  Places are 0-based and half-open, on the sequences as given.
 * @property {number} qend
 * @property {number} sstart
 * @property {number} send
 * @property {number} qframe
 * @property {number} sframe
 */

/**
 * @typedef {object} Rows
 * @property {string} query
 * @property {string} middle
 * @property {string} target
 */

/**
 * Return operations such as 10M2D7M.
 * @param {string} cigar
 * @returns {Array<[string, number]>}
 */
function readOperations(cigar) {
  return Array.from(cigar.matchAll(/(\d+)([MID\\/])/g), ([, count, letter]) => [
    letter,
    Number(count),
  ]);
}

/**
 * Return the score of two letters in the plain matrix, or null.
 * @param {any} search
 * @param {string} a
 * @param {string} b
 * @param {any[][]|undefined} table  `scores` or `positives` of the search, if they are known.
 * @param {number} strand
 */
function lookUp(search, a, b, table, strand) {
  if (!table) return null;
  const letters = search.bases && strand < 0 ? search.complements : search.alphabet;
  const i = letters.indexOf(a.toUpperCase());
  const j = letters.indexOf(b.toUpperCase());
  return i < 0 || j < 0 ? null : table[i][j];
}

/** @param {Alignment} alignment */
function strandOf(alignment) {
  return (alignment.qframe || 1) * (alignment.sframe || 1) > 0 ? 1 : -1;
}

/**
 * Return the rows of an alignment, with "-" at gaps.
 * @param {any} search
 * @param {Alignment} alignment
 * @returns {Rows}
 */
function makeRows(search, alignment) {
  const tops = [];
  const middles = [];
  const bottoms = [];
  const strand = strandOf(alignment);
  let i = 0;
  let j = 0;
  for (const [operation, count] of alignment.operations) {
    if (operation === "M") {
      const top = alignment.query.slice(i, i + count);
      const bottom = alignment.target.slice(j, j + count);
      tops.push(top);
      bottoms.push(bottom);
      for (let k = 0; k < count; k++) {
        const a = top[k].toUpperCase();
        const b = bottom[k].toUpperCase();
        if (a === b) middles.push(search.bases ? "|" : a);
        else middles.push(lookUp(search, a, b, search.positives, strand) ? "+" : " ");
      }
      i += count;
      j += count;
    } else if (operation === "I") {
      tops.push(alignment.query.slice(i, i + count));
      bottoms.push("-".repeat(count));
      middles.push(" ".repeat(count));
      i += count;
    } else if (operation === "D") {
      tops.push("-".repeat(count));
      bottoms.push(alignment.target.slice(j, j + count));
      middles.push(" ".repeat(count));
      j += count;
    } else {
      tops.push(operation);
      bottoms.push("-");
      middles.push(" ");
    }
  }
  return { query: tops.join(""), middle: middles.join(""), target: bottoms.join("") };
}

/**
 * Return how many places further each residue of a side is than the one before.
 * @param {boolean} translated
 * @param {number} frame
 */
function stepOf(translated, frame) {
  return (translated ? 3 : 1) * (frame < 0 ? -1 : 1);
}

/**
 * @param {string} text
 * @param {string} letter
 */
function countLetter(text, letter) {
  return text.split(letter).length - 1;
}

/**
 * Return the rows cut into lines, with the places of the first and last residue of each, from 1.
 * @param {any} search
 * @param {Alignment} alignment
 * @param {Rows} rows
 * @param {number} width
 */
function cutLines(search, alignment, rows, width) {
  const turn = stepOf(search.translates[0], alignment.qframe);
  const step = stepOf(search.translates[1], alignment.sframe);
  let i = turn > 0 ? alignment.qstart : alignment.qend + 1;
  let j = step > 0 ? alignment.sstart : alignment.send + 1;
  const lines = [];
  for (let start = 0; start < rows.query.length; start += width) {
    const query = rows.query.slice(start, start + width);
    const middle = rows.middle.slice(start, start + width);
    const target = rows.target.slice(start, start + width);
    const skipped = countLetter(query, SKIPPED);
    const back = countLetter(query, BACK);
    const here = query.length - countLetter(query, "-") - skipped - back;
    const there = target.length - countLetter(target, "-");
    const shifted = { [SKIPPED]: 1, [BACK]: -1 }[query[0]] ?? 0;
    const queryFirst = i + (here > 0 ? (turn > 0 ? 1 + shifted : -1 - shifted) : 0);
    const targetFirst = j + (there > 0 ? Math.sign(step) : 0);
    i += turn * here + Math.sign(turn) * (skipped - back);
    j += step * there;
    lines.push({ query, middle, target, queryFirst, queryLast: i, targetFirst, targetLast: j });
  }
  return lines;
}

/**
 * Return an alignment as format 0 prints it.
 * @param {any} search
 * @param {Alignment} alignment
 */
function printAlignment(search, alignment) {
  const lines = cutLines(search, alignment, makeRows(search, alignment), TEXT_WIDTH);
  const places = lines.flatMap((line) => [
    line.queryFirst,
    line.queryLast,
    line.targetFirst,
    line.targetLast,
  ]);
  const wide = Math.max(...places.map((place) => String(place).length));
  return lines
    .map((line) =>
      [
        `Query  ${String(line.queryFirst).padEnd(wide)}  ${line.query}  ${line.queryLast}`,
        " ".repeat(9 + wide) + line.middle,
        `Sbjct  ${String(line.targetFirst).padEnd(wide)}  ${line.target}  ${line.targetLast}`,
      ].join("\n"),
    )
    .join("\n\n");
}

/**
 * Return a title in lines that end at the first space behind each 60 characters, as in format 0.
 * @param {string} title
 */
function wrapTitle(title) {
  const letters = Array.from(title);
  const parts = [];
  let start = 0;
  let whole = TEXT_WIDTH;
  for (;;) {
    const space = whole < letters.length ? letters.indexOf(" ", whole) : -1;
    if (space < 0) break;
    parts.push(letters.slice(start, space + 1).join(""));
    start = space + 1;
    whole = (Math.floor(space / TEXT_WIDTH) + 1) * TEXT_WIDTH;
  }
  return [...parts, letters.slice(start).join("")].join("\n");
}

/**
 * Return a hit with its alignments as format 0 prints it.
 * @param {any} search
 * @param {any} hits
 * @param {number[]} rows  Of the alignments of the hit.
 */
function printHit(search, hits, rows) {
  const title = hits.title[rows[0]];
  const blocks = rows.map((row) => printBlock(search, hits, row));
  return `>${wrapTitle(title)}\nLength=${hits.slen[rows[0]]}\n${blocks.join("\n")}`;
}

/**
 * Return an alignment with its numbers as format 0 prints it.
 * @param {any} search
 * @param {any} hits
 * @param {number} row
 */
function printBlock(search, hits, row) {
  const { bits, evalue, score, nident, positive, gaps, length } = hits;
  const worth = bits ? `${printBits(bits[row])} bits (${score[row]})` : `${score[row]}`;
  const chance = evalue ? `,  Expect = ${printShortEvalue(evalue[row])}` : "";
  const method = hits.method?.[row] ? `, Method: ${hits.method[row]}` : "";
  const counts = [`Identities = ${printShare(nident[row], length[row])}`];
  if (!search.bases) counts.push(`Positives = ${printShare(positive[row], length[row])}`);
  counts.push(`Gaps = ${printShare(gaps[row], length[row])}`);
  const lines = ["", ` Score = ${worth}${chance}${method}`, ` ${counts.join(", ")}`];
  const alignment = alignmentOf(search, hits, row);
  if (search.bases) lines.push(` Strand=Plus/${strandOf(alignment) > 0 ? "Plus" : "Minus"}`);
  if (search.translates.includes(true)) lines.push(` Frame = ${printFrames(hits, row)}`);
  if (length[row]) lines.push("", printAlignment(search, alignment));
  return `${lines.join("\n")}\n`;
}

/**
 * @param {any} hits
 * @param {number} row
 */
function printFrames(hits, row) {
  return [hits.qframe[row], hits.sframe[row]]
    .filter((frame) => frame)
    .map((frame) => (frame > 0 ? `+${frame}` : `${frame}`))
    .join("/");
}

/**
 * Return the alignment of a row, or null if the page does not hold it.
 * @param {any} search
 * @param {any} hits
 * @param {number} row
 * @returns {Alignment|null}
 */
function alignmentOf(search, hits, row) {
  if (!(row < hits.cigar.length)) return null;
  const letters = (start, end) => hits.query.slice(start - hits.before, end - hits.before);
  const place = {
    qstart: hits.qstart[row],
    qend: hits.qend[row],
    sstart: hits.sstart[row],
    send: hits.send[row],
  };
  return {
    ...place,
    operations: readOperations(hits.cigar[row]),
    query: hits.queryPart ? hits.queryPart[row] : letters(place.qstart, place.qend),
    target: hits.targetPart[row],
    qframe: hits.qframe ? hits.qframe[row] : 1,
    sframe: hits.sframe ? hits.sframe[row] : 1,
  };
}

/**
 * Return the kind of each column: "=" equal, "+" similar, " " different, "-" gap.
 * @param {Rows} rows
 */
function kindsOf(rows) {
  return Array.from(rows.query, (a, k) => {
    const b = rows.target[k];
    if (a === "-" || b === "-") return "-";
    if (a.toUpperCase() === b.toUpperCase()) return "=";
    return rows.middle[k] === "+" ? "+" : " ";
  });
}

/**
 * Return the class of each column for conservation: the score of its pair, from 0 to 4.
 * @param {any} search
 * @param {Rows} rows
 * @param {number} strand
 */
function conservationOf(search, rows, strand) {
  return Array.from(rows.query, (a, k) => {
    const score = lookUp(search, a, rows.target[k], search.scores, strand);
    if (score === null) return "gap";
    return String(score <= -2 ? 0 : score <= 0 ? 1 : score <= 2 ? 2 : score <= 4 ? 3 : 4);
  });
}

const KIND_NAMES = { "=": "same", "+": "similar", " ": "other", "-": "gap" };

/**
 * Return a row of letters with a class for each run of one kind.
 * @param {string} letters
 * @param {string[]} classes
 */
function colourRow(letters, classes) {
  const row = element("span", { class: "letters" });
  let start = 0;
  for (let k = 1; k <= letters.length; k++) {
    if (k < letters.length && classes[k] === classes[start]) continue;
    row.append(element("span", { class: classes[start] }, letters.slice(start, k)));
    start = k;
  }
  return row;
}

/**
 * Draw an alignment, wrapped to the width of its place.
 * @param {any} search
 * @param {Alignment} alignment
 * @param {"identity"|"conservation"|"none"} colouring
 * @param {number} columns  Letters in a line.
 * @param {(text: string) => void} onPoint  What is under the pointer.
 */
function drawAlignment(search, alignment, colouring, columns, onPoint) {
  const rows = makeRows(search, alignment);
  const classes =
    colouring === "identity"
      ? kindsOf(rows).map((kind) => KIND_NAMES[kind])
      : colouring === "conservation"
        ? conservationOf(search, rows, strandOf(alignment)).map((level) => `level-${level}`)
        : Array.from(rows.query, () => "plain");
  const lines = cutLines(search, alignment, rows, columns);
  const digits = String(
    Math.max(
      ...lines.flatMap((line) => [
        line.queryFirst,
        line.queryLast,
        line.targetFirst,
        line.targetLast,
      ]),
    ),
  ).length;
  const place = element("div", { class: `alignment ${colouring}` });
  lines.forEach((line, number) => {
    const part = classes.slice(number * columns, (number + 1) * columns);
    const label = (name, first) =>
      element("span", { class: "faint" }, `${name}  ${String(first).padStart(digits)}  `);
    place.append(
      element(
        "pre",
        {
          pointermove: (event) =>
            onPoint(describePoint(search, alignment, line, columnAt(event, line))),
          pointerleave: () => onPoint(""),
        },
        label("Query", line.queryFirst),
        colourRow(line.query, part),
        element("span", { class: "faint" }, `  ${line.queryLast}`),
        `\n${" ".repeat(9 + digits)}`,
        element("span", { class: "middle" }, line.middle),
        "\n",
        label("Sbjct", line.targetFirst),
        colourRow(line.target, part),
        element("span", { class: "faint" }, `  ${line.targetLast}`),
      ),
    );
  });
  return place;
}

/**
 * Return the column of a line that the pointer is at, or -1.
 * @param {PointerEvent} event
 * @param {{query: string}} line
 */
function columnAt(event, line) {
  const block = /** @type {Element} */ (event.currentTarget);
  const box = block.querySelector(".letters").getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * line.query.length);
  return column >= 0 && column < line.query.length ? column : -1;
}

/**
 * Say what is in a column of a line: letters, places, score.
 * @param {any} search
 * @param {Alignment} alignment
 * @param {any} line
 * @param {number} column
 */
function describePoint(search, alignment, line, column) {
  if (column < 0) return "";
  const side = (letters, first, step) => {
    const letter = letters[column];
    const before = letters.slice(0, column);
    const residues =
      before.length -
      countLetter(before, "-") -
      countLetter(before, SKIPPED) -
      countLetter(before, BACK);
    const shift =
      Math.sign(step) *
      (countLetter(before.slice(1), SKIPPED) - countLetter(before.slice(1), BACK));
    if (letter === "-") return "gap";
    if (letter === SKIPPED || letter === BACK) return "frameshift";
    return `${letter} ${first + step * residues + shift}`;
  };
  const query = side(line.query, line.queryFirst, stepOf(search.translates[0], alignment.qframe));
  const target = side(
    line.target,
    line.targetFirst,
    stepOf(search.translates[1], alignment.sframe),
  );
  const score = lookUp(
    search,
    line.query[column],
    line.target[column],
    search.scores,
    strandOf(alignment),
  );
  const worth = score === null ? "" : `, ${search.matrix} ${score > 0 ? "+" : ""}${score}`;
  return `query ${query}, target ${target}${worth}`;
}
