/*
 * A spreadsheet runs a cell that begins like a formula, and changes a text of digits to a number. A quotation mark before
 * the text prevents both: it escapes the text. Exports escape texts, and imports remove the quotation mark.
 */

/** The quotation mark that escapes a formula. Further quotation marks belong to the text. */
const FORMULA_ESCAPE = /^'(?='*[=+\-@\t\r])/;
/** A text that a spreadsheet would run. OWASP names these characters (https://owasp.org/www-community/attacks/CSV_Injection). */
const FORMULA = /^'*[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;
const NUMBER_ESCAPE = /^'(?='*\d+$)/;

/** Returns the text that a cell stands for. */
export const unescapeFormula = (cell: string): string => cell.replace(FORMULA_ESCAPE, '');

/** Returns the code that a cell stands for. */
export const unescapeNumber = (cell: string): string => cell.replace(NUMBER_ESCAPE, '');

/**
 * Returns the cell for a text, such that `unescapeFormula` returns the text. With `escape_formulas`, a spreadsheet does not
 * run the text.
 */
export function escapeFormula(text: string, escape_formulas: boolean): string {
  const is_formula = FORMULA.test(text) && !NUMBER.test(text);
  const looks_escaped = FORMULA_ESCAPE.test(text);
  return looks_escaped || (escape_formulas && is_formula) ? `'${text}` : text;
}

/** Returns the cell for a code, such that `unescapeNumber` returns the code. */
export const escapeNumber = (code: string): string => (NUMBER_ESCAPE.test(code) ? `'${code}` : code);

/** Returns a text as a cell of CSV. */
export const csvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
