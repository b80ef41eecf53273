import { foldText } from '../../shared/kernel/text';

/*
 * The addresses of the shop's pages (`services/web/shop`), and the names of options that other systems know.
 */

interface Page {
  readonly id: string;
  readonly handle?: string | null | undefined;
}

export const productPath = ({ handle, id }: Page): string => `/p/${encodeURIComponent(handle ?? id)}`;
export const listingPath = ({ handle, id }: Page): string => `/c/${encodeURIComponent(handle ?? id)}`;

/** The parameter of an option's value begins with it: `?option.Size=M`. */
export const OPTION_PARAMETER = 'option.';

type OptionValues = Readonly<Record<string, string>>;

/** Returns the query of the product's page that shows the variant with these values. */
export const optionQuery = (values: OptionValues): string =>
  `?${new URLSearchParams(Object.entries(values).map(([name, value]) => [OPTION_PARAMETER + name, value]))}`;

export const variantPath = (
  product: Page,
  { option_values }: { readonly option_values: OptionValues },
): string => productPath(product) + optionQuery(option_values);

/** What schema.org, Google and Meta call the options that merchants name in their own language. */
const KNOWN_OPTIONS: Readonly<Record<string, KnownOption>> = {
  color: 'color',
  colour: 'color',
  size: 'size',
  talla: 'size',
  tamano: 'size',
  material: 'material',
  pattern: 'pattern',
  estampado: 'pattern',
};
export type KnownOption = 'color' | 'size' | 'material' | 'pattern';

/** Returns undefined for an option that only the merchant knows. */
export const knownOption = (name: string): KnownOption | undefined => KNOWN_OPTIONS[foldText(name).trim()];
