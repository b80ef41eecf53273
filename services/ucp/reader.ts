import { reads } from '../../shared/api/operations/reads';
import { JsonText, type Presentable } from '../../shared/catalog/json-text';
import { canonicalLocale } from '../../shared/catalog/translations';
import type { AnswerOf, QueryOf, ReadId } from '../../shared/client/operations';
import type { Principal } from '../../shared/http/request';
import type { Answer, ApiRequest, Reply, Route } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { Edition } from '../feeds/addresses';

/** What a request says about the person for whom it is made. */
export interface Buyer {
  /** A language tag. Any other text has no effect. */
  readonly language?: string | undefined;
  /** `Accept-Language`. */
  readonly languages?: string | undefined;
  readonly currency?: string | undefined;
  readonly address_country?: string | undefined;
}

/** How long a read may take, as `/api` answers at the latest. */
const READ_MS_MAX = 4_900;
const NOT_FOUND = /^(publication|variant|listing)_not_found$/;

/**
 * Reads the catalog as a storefront with a public key does, but within the process: calls the routes of `/api` without a
 * request, a token and a response.
 */
export class Reader {
  /** The currency of all prices. Undefined: that of each publication. */
  currency: string | undefined;
  /** How answers are shown, once something was read. */
  private as: Answer['as'];
  private language: string | undefined;
  private languages: string | undefined;
  private country: string | undefined;

  constructor(
    /** The routes of the reads, by the pattern of their path. */
    private readonly routes: ReadonlyMap<string, Route>,
    private readonly principal: Principal,
    private readonly request_id: string,
  ) {}

  /** Reads in the language and the currency of a buyer from now on, as far as the store has them. */
  async readFor({ language, languages, currency, address_country: country }: Buyer): Promise<void> {
    this.language = language && canonicalLocale(language);
    this.languages = languages === '*' ? undefined : languages;
    if (currency === undefined && country === undefined) return;
    const { currencies = [], markets = [] } = (await this.read('getStore', {})).data;
    const market = markets.find(({ countries }) => countries.includes(country ?? ''));
    this.country = market && country;
    const known = currencies.find((each) => each === currency) ?? market?.currency;
    // The market of the country does not decide if the request names the base currency.
    this.currency = known === currencies[0] && !this.country ? undefined : known;
  }

  /** Returns whether texts are translations. */
  async isTranslating(): Promise<boolean> {
    if (this.language ?? this.languages ?? this.country) await this.read('getStore', {});
    const { locale, store } = this.as ?? {};
    return locale !== undefined && locale !== store?.locales?.[0];
  }

  /** The settings on which the answers depend that were read. */
  get dependencies(): Pick<Answer, 'as'> {
    return this.as ? { as: this.as } : {};
  }

  /** What the addresses of pages open, once something was read. */
  get edition(): Edition {
    const { language, languages, currency } = this;
    const locale = this.as?.locale;
    return { locale: (language ?? languages) && locale, currency, has_languages: locale !== undefined };
  }

  /**
   * Returns the answer of a read. As HEAD, the read of a publication does not count as a view of it. Rejects with the
   * `CatalogError` of the read.
   */
  async read<Id extends ReadId & keyof typeof reads>(
    id: Id,
    query: QueryOf<Id>,
    params: ApiRequest['params'] = {},
    method: 'GET' | 'HEAD' = 'HEAD',
  ): Promise<AnswerOf<Id>> {
    const { currency, country, language: locale, languages } = this;
    const parameters = Object.entries({ locale, currency, country, ...query }).filter(
      ([, value]) => value !== undefined,
    );
    const { data, meta, reply, as } = await this.routes.get(reads[id].path)!.handler({
      ...{ method, params, principal: this.principal, request_id: this.request_id, body: {} },
      query: Object.fromEntries(parameters.map(([name, value]) => [name, [value].flat().map(String)])),
      answer_by_ms: performance.now() + READ_MS_MAX,
      assertAwaited: () => {},
      header: (name) => (name === 'accept-language' ? languages : undefined),
    });
    this.as = as ?? this.as;
    return (reply ? JSON.parse(textOf(reply)) : { data: parsed(data), meta }) as AnswerOf<Id>;
  }

  /** Returns `data` of a read, undefined if it answers that the resource does not exist. */
  async find<Id extends ReadId & keyof typeof reads>(...read: Parameters<typeof this.read<Id>>) {
    try {
      return (await this.read(...read)).data as AnswerOf<Id>['data'];
    } catch (error) {
      if (error instanceof CatalogError && NOT_FOUND.test(error.condition)) return undefined;
      throw error;
    }
  }
}

/** Returns the body of a stored answer, whose bytes may be in a string with a character for each. */
export const textOf = ({ body }: Reply): string =>
  String(typeof body === 'string' ? Buffer.from(body, 'latin1') : body);

/** Parses the texts in a value. Other parts of the value stay as they are. */
function parsed(value: Presentable): unknown {
  if (value instanceof JsonText) return value.toJSON();
  if (Array.isArray(value)) return value.map(parsed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, parsed(field)]));
}
