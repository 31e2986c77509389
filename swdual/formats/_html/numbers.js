// Numbers as BLAST's tables print them, to the last digit.

/**
 * Return a number with a fixed number of decimals; of two that are equally near, the even one, as
 * C and Python print it.
 * @param {number} value
 * @param {number} digits
 */
function fixed(value, digits) {
  const text = value.toFixed(digits);
  const exact = value.toFixed(Math.min(100, digits + 60));
  const rest = exact.slice(exact.length - 60);
  if (!/^50*$/.test(rest)) return text;
  const down = exact.slice(0, digits ? -60 : -61); // cut off; without decimals also the point
  return Number(down.at(-1)) % 2 === 0 ? down : text;
}

/**
 * Return a number as C's %e prints it: at least two digits of the exponent.
 * @param {number} value
 * @param {number} digits
 */
function exponential(value, digits) {
  return value.toExponential(digits).replace(/e([+-])(\d)$/, "e$10$2");
}

/** @param {number} evalue */
function printEvalue(evalue) {
  if (Number.isNaN(evalue)) return "NA";
  if (evalue < 1e-180) return "0.0";
  if (evalue < 0.0009) return exponential(evalue, 2);
  if (evalue < 0.1) return fixed(evalue, 3);
  if (evalue < 1) return fixed(evalue, 2);
  return fixed(evalue, evalue < 10 ? 1 : 0);
}

/**
 * Return an E-value as format 0 has it: one digit where tables have three.
 * @param {number} evalue
 */
function printShortEvalue(evalue) {
  return evalue >= 1e-180 && evalue < 0.0009 ? exponential(evalue, 0) : printEvalue(evalue);
}

/** @param {number} bits */
function printBits(bits) {
  if (Number.isNaN(bits)) return "NA";
  if (bits > 99999) return exponential(bits, 3);
  return bits > 99.9 ? String(Math.trunc(bits)) : fixed(bits, 1);
}

/**
 * Return a count with its percentage, 100 only for all, as format 0 has it.
 * @param {number} count
 * @param {number} length
 */
function printShare(count, length) {
  const percent = count === length ? 100 : Math.min(99, Math.trunc(0.5 + (100 * count) / length));
  return `${count}/${length} (${length ? percent : 0}%)`;
}
