// Files that the page makes of what is chosen: nothing is sent or fetched.

const LETTERS_IN_LINE = 60;

/**
 * Return rows as BLAST's format 6 with its twelve columns.
 * @param {any} search
 * @param {any} hits
 * @param {number[]} rows
 */
function makeTable(search, hits, rows) {
  return rows.map((row) => `${standardCells(search, hits, row).join("\t")}\n`).join("");
}

/**
 * @param {any} search
 * @param {any} hits
 * @param {number} row
 * @returns {string[]}
 */
function standardCells(search, hits, row) {
  /** @type {(column: ArrayLike<number>|undefined, print?: (value: number) => string) => string} */
  const show = (column, print = String) =>
    column && !Number.isNaN(column[row]) ? print(column[row]) : "NA";
  const place = (start, end, frame) => {
    if (!start) return ["NA", "NA"];
    const ends = [start[row] + 1, end[row]];
    return (frame && frame[row] < 0 ? ends.reverse() : ends).map(String);
  };
  return [
    hits.queryId,
    hits.id[row],
    show(hits.pident, (value) => fixed(value, 3)),
    ...[hits.length, hits.mismatch, hits.gapopen].map((column) => show(column)),
    ...place(hits.qstart, hits.qend, hits.qframe),
    ...place(hits.sstart, hits.send, hits.sframe),
    show(hits.evalue, printEvalue),
    show(hits.bits, printBits),
  ];
}

/**
 * Return the aligned parts of targets as FASTA.
 * @param {any} hits
 * @param {number[]} rows  Whose letters are in the page.
 */
function makeFasta(hits, rows) {
  return rows
    .map((row) => {
      const frame = hits.sframe && hits.sframe[row] < 0;
      const place = frame
        ? `${hits.send[row]}-${hits.sstart[row] + 1}`
        : `${hits.sstart[row] + 1}-${hits.send[row]}`;
      const rest = restOfTitle(hits.title[row], hits.id[row]);
      return `>${hits.id[row]}/${place}${rest && ` ${rest}`}\n${wrapLetters(hits.targetPart[row])}`;
    })
    .join("");
}

/** @param {string} letters */
function wrapLetters(letters) {
  return letters.replace(new RegExp(`.{1,${LETTERS_IN_LINE}}`, "g"), "$&\n");
}

/**
 * Return alignments along the query in a3m: letters at gaps of the query are in lower case.
 * @param {any} search
 * @param {any} hits
 * @param {number[]} rows  Whose letters are in the page.
 */
function makeA3m(search, hits, rows) {
  const parts = [`>${hits.queryTitle}\n${hits.query.toUpperCase()}\n`];
  for (const row of rows) {
    const alignment = alignmentOf(search, hits, row);
    const letters = ["-".repeat(alignment.qstart - hits.before)];
    let j = 0;
    for (const [operation, count] of alignment.operations) {
      const part = alignment.target.slice(j, j + count);
      if (operation === "I") letters.push("-".repeat(count));
      else {
        letters.push(operation === "M" ? part.toUpperCase() : part.toLowerCase());
        j += count;
      }
    }
    letters.push("-".repeat(hits.before + hits.query.length - alignment.qend));
    parts.push(`>${hits.title[row]}\n${letters.join("")}\n`);
  }
  return parts.join("");
}

/**
 * Return a picture of the page as a file of its own, with the colours that it has here.
 * @param {SVGElement} picture
 */
function makePicture(picture) {
  const copy = /** @type {SVGElement} */ (picture.cloneNode(true));
  copy.setAttribute("xmlns", SVG);
  const own = [picture, ...picture.querySelectorAll("*")];
  const others = [copy, ...copy.querySelectorAll("*")];
  own.forEach((node, k) => {
    const style = getComputedStyle(node);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity"])
      others[k].setAttribute(name, style.getPropertyValue(name));
  });
  return new XMLSerializer().serializeToString(copy);
}
