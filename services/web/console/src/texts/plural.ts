/** Returns a function that chooses the form of a text for a count, and puts the formatted count into it as `#`. */
export function pluralsOf(locale: string) {
  const rules = new Intl.PluralRules(locale);
  // As in the country of the browser: 1,000 in Peru and 1.000 in Spain.
  const numbers = new Intl.NumberFormat(
    navigator.languages.find((each) => each.startsWith(locale)) ?? locale,
  );
  return (count: number, one: string, other: string): string =>
    (rules.select(count) === 'one' ? one : other).replace('#', numbers.format(count));
}
