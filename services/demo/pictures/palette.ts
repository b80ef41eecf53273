/** What one picture is painted with: CSS colours. */
export interface Paint {
  readonly ground: string;
  readonly glow: string;
  readonly main: string;
  readonly dark: string;
  readonly light: string;
  readonly accent: string;
}

/** Ground, and the hues that things of this listing come in; in degrees. */
const LISTINGS: Readonly<Record<string, { ground: number; hues: readonly number[]; saturation: number }>> = {
  Cerámica: { ground: 28, hues: [14, 196, 168, 38, 350], saturation: 42 },
  Café: { ground: 40, hues: [20, 28, 150, 12, 205], saturation: 38 },
  Papelería: { ground: 205, hues: [212, 48, 340, 165, 24], saturation: 48 },
  Textiles: { ground: 345, hues: [350, 265, 200, 32, 120], saturation: 58 },
  'Chocolate y despensa': { ground: 46, hues: [18, 42, 8, 90, 30], saturation: 55 },
  'Velas y aromas': { ground: 260, hues: [36, 110, 22, 285, 190], saturation: 32 },
  'Láminas y libros': { ground: 188, hues: [196, 12, 44, 158, 220], saturation: 52 },
  Talleres: { ground: 18, hues: [16, 190, 48, 330, 140], saturation: 46 },
  'Navidad (en preparación)': { ground: 140, hues: [356, 42, 150, 10, 28], saturation: 50 },
};
const OTHERS = { ground: 60, hues: [40, 160, 330], saturation: 40 };

/** A number from 0 on that follows from the name, another one for each `salt`. */
export function numberOf(name: string, salt: string, below: number): number {
  let sum = 2_166_136_261;
  for (const char of `${salt}:${name}`) sum = Math.imul(sum ^ char.codePointAt(0)!, 16_777_619) >>> 0;
  return sum % below;
}

export function paintOf(listing: string | null, product: string): Paint {
  const { ground, hues, saturation } = LISTINGS[listing ?? ''] ?? OTHERS;
  const hue = hues[numberOf(product, 'hue', hues.length)]! + numberOf(product, 'shade', 13) - 6;
  const other =
    hues[
      (numberOf(product, 'hue', hues.length) + 1 + numberOf(product, 'other', hues.length - 1)) % hues.length
    ]!;
  const tone = (at: number, part: number, light: number): string =>
    `hsl(${at}, ${Math.round(saturation * part)}%, ${light}%)`;
  const lift = numberOf(product, 'lift', 9);
  return {
    ground: tone(ground, 0.7, 82 - lift),
    glow: tone(ground, 0.8, 94),
    main: tone(hue, 1, 46 + lift),
    dark: tone(hue, 1.1, 28),
    light: tone(hue, 0.9, 80),
    accent: tone(other, 1.3, 58),
  };
}
