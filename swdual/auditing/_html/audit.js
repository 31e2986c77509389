// The page of an audit: the table of single hits.

/** Show the single hits in a table to sort and to filter. */
async function start() {
  const { columns, tables } = await readBlock("hits");
  document.querySelector("header").prepend(buildThemeButton());
  const hits = buildHits(columns, tables);
  hits.state = readFragment();
  document.getElementById("hits").replaceChildren(hits.element);
  document.documentElement.classList.add("ready");
}

/**
 * Return the table of single hits.
 * @param {any} columns
 * @param {number} tables  The number of tables of the audit.
 */
function buildHits(columns, tables) {
  /**
   * @param {string} name
   * @param {string} label
   * @param {(value: number) => string} print
   * @param {string} hint
   * @returns {Column}
   */
  const real = (name, label, print, hint) => {
    const values = numbers(columns[name]);
    const show = (row) => (Number.isNaN(values[row]) ? "" : print(values[row]));
    return { name, label, hint, kind: "number", values, print: show, width: "96px" };
  };
  /**
   * @param {string} name
   * @param {string} label
   * @param {string} [width]
   * @returns {Column}
   */
  const words = (name, label, width) => ({
    name,
    label,
    kind: "text",
    values: columns[name],
    draw: (cell, row) => fill(cell, { title: columns[name][row] }, [columns[name][row]]),
    width,
  });
  const table = new DataTable({
    label: "Hits that are not found, or differ",
    noun: ["hit", "hits"],
    count: columns.table.length,
    selects: false,
    columns: [
      ...(tables > 1 ? [words("table", "Table", "18%")] : []),
      words("query", "Query"),
      words("target", "Target"),
      words("verdict", "Verdict", "84px"),
      real("evalue", "E-value", printEvalue, "Exact E-value"),
      real("bits", "Bits", printBits, "Exact bit score"),
      real("listed_evalue", "Listed E", printEvalue, "E-value in the table"),
      real("listed_bits", "Listed bits", printBits, "Bit score in the table"),
    ],
    texts: { table: columns.table },
    filters: [
      ...(tables > 1
        ? [{ name: "table", label: "Table", kind: "contains", columns: ["table"] }]
        : []),
      { name: "name", label: "Query or target", kind: "contains", columns: ["query", "target"] },
      { name: "verdict", label: "Verdict", kind: "contains", columns: ["verdict"] },
      { name: "evalue", label: "E-value", kind: "max", columns: ["evalue"] },
    ],
    name: (row) => `${columns.query[row]} and ${columns.target[row]}`,
    onCurrent: () => {},
    onChange: () => writeFragment(table.state),
  });
  return table;
}

start().catch((error) => {
  document
    .querySelector("header")
    .append(
      element(
        "p",
        { class: "note" },
        `This browser cannot show more than the tables below: ${error}`,
      ),
    );
  throw error;
});
