// Header lines: identifiers, with links to where they may be known. Nothing is fetched.

const UNIPROT = /^(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})$/;

/**
 * Return the address of a sequence's entry, or null if its identifier is of no known form.
 * @param {string} id
 * @param {boolean} bases
 * @returns {string|null}
 */
function addressOf(id, bases) {
  const words = id.split("|");
  const at = (...names) => words[words.findIndex((word) => names.includes(word)) + 1];
  const uniprot = at("sp", "tr") ?? id;
  if (words.some((word) => word === "sp" || word === "tr") || words.length === 1) {
    const accession = uniprot.replace(/^UniRef\d+_/, "").replace(/[.-]\d+$/, "");
    if (UNIPROT.test(accession)) return `https://www.uniprot.org/uniprotkb/${accession}/entry`;
  }
  const structure = words.includes("pdb")
    ? at("pdb")
    : /^([0-9][A-Za-z0-9]{3})_[A-Za-z0-9]{1,4}$/.exec(id)?.[1];
  if (structure && /^[0-9][A-Za-z0-9]{3}$/.test(structure))
    return `https://www.rcsb.org/structure/${structure.toUpperCase()}`;
  const named = words.some((word) => ["ref", "gb", "emb", "dbj"].includes(word))
    ? at("ref", "gb", "emb", "dbj")
    : id;
  if (/^(?:[A-Z]{2}_\d{6,9}|[A-Z]{3}\d{5,7}|[A-Z]{1,2}\d{5,8})\.\d+$/.test(named))
    return `https://www.ncbi.nlm.nih.gov/${bases ? "nuccore" : "protein"}/${named}`;
  return null;
}

/**
 * Return an identifier, as a link if its form is known.
 * @param {string} id
 * @param {boolean} bases
 */
function linkTo(id, bases) {
  const address = addressOf(id, bases);
  return address === null
    ? element("span", {}, id)
    : element("a", { href: address, rel: "noreferrer", target: "_blank" }, id);
}

/**
 * Return what follows the identifier in a header line.
 * @param {string} title
 * @param {string} id
 */
function restOfTitle(title, id) {
  return title.trim().slice(id.length).trim();
}
