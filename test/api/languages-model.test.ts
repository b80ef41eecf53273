import fc from 'fast-check';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { cases } from '../support/long';
import { verifyDocuments } from '../support/verify-documents';
import { waitFor } from '../support/wait-for';

const LOCALES = ['es', 'de', 'de-AT', 'en'] as const;
const FIELDS = ['title', 'description'] as const;
type Texts = Partial<Record<(typeof FIELDS)[number], string>>;

/** What a store should show: a simple program, which knows no documents and no caches. */
class Model {
  locales: readonly string[] = ['es'];
  readonly products = new Map<string, { own: Required<Texts>; translations: Record<string, Texts> }>();

  /** Returns whether the write is accepted. */
  translate(id: string, locale: string, patch: Record<string, string | null> | null): boolean {
    const { translations } = this.products.get(id)!;
    const before = translations[locale] ?? {};
    const texts = Object.entries({ ...(patch && before), ...patch }).filter(([, text]) => text !== null);
    const after = Object.fromEntries(texts) as Texts;
    const is_removal = texts.length === 0;
    const is_same = FIELDS.every((field) => before[field] === after[field]);
    if (!is_removal && !is_same && !this.locales.slice(1).includes(locale)) return false;
    if (is_removal) delete translations[locale];
    else translations[locale] = after;
    return true;
  }

  localeFor(asked: readonly string[]): string {
    const forms = asked.flatMap((tag) => [tag, tag.split('-')[0]!]);
    return forms.find((tag) => this.locales.includes(tag)) ?? this.locales[0]!;
  }

  contentLanguage(locale: string): string | null {
    return this.locales.length > 1 ? locale : null;
  }

  /** Returns the ids of publications with a title in the language, by this title, then all other ids, by the default title. */
  byName(locale: string): string[] {
    const [language, own_language] = [locale, this.locales[0]!].map((tag) => tag.split('-')[0]!);
    const titleIn = (id: string): string | undefined => {
      const { translations } = this.products.get(id)!;
      const tags = Object.keys(translations).filter((tag) => tag.split('-')[0] === language);
      const titles = tags.sort((a, b) => a.length - b.length).map((tag) => translations[tag]!.title);
      return language === own_language ? undefined : titles.find((title) => title !== undefined);
    };
    const { compare } = new Intl.Collator(language, { sensitivity: 'base' });
    return [...this.products.keys()].sort((a, b) => {
      const [left, right] = [titleIn(a), titleIn(b)];
      const is_last = Number(left === undefined) - Number(right === undefined);
      const titles = [left ?? this.products.get(a)!.own.title, right ?? this.products.get(b)!.own.title];
      return is_last || compare(titles[0]!, titles[1]!) || (a < b ? -1 : 1);
    });
  }

  textsOf(id: string, locale: string): Required<Texts> {
    const { own, translations } = this.products.get(id)!;
    const languages = [locale, locale.split('-')[0]!, this.locales[0]!].filter((tag) =>
      this.locales.includes(tag),
    );
    const textIn = (tag: string, field: (typeof FIELDS)[number]) =>
      tag === this.locales[0] ? own[field] : translations[tag]?.[field];
    const best = (field: (typeof FIELDS)[number]): string =>
      languages.map((tag) => textIn(tag, field)).find((text) => text !== undefined)!;
    return { title: best('title'), description: best('description') };
  }
}

interface Step {
  locales?: string[] | undefined;
  product: number;
  locale: string;
  patch: Record<string, string | null> | null;
  asked: string[];
  by: 'locale' | 'accept-language';
}

const text = fc.option(fc.constantFrom('Tee', 'Tea', 'Grün'), { freq: 4 });
const step: fc.Arbitrary<Step> = fc.record({
  locales: fc
    .option(
      fc
        .subarray([...LOCALES], { minLength: 1 })
        .chain((list) => fc.shuffledSubarray(list, { minLength: list.length })),
      { nil: undefined, freq: 6 },
    )
    .map((list) => list ?? undefined),
  product: fc.nat({ max: 2 }),
  locale: fc.constantFrom(...LOCALES),
  patch: fc.option(fc.record({ title: text, description: text }, { requiredKeys: [] }), { freq: 8 }),
  asked: fc.array(fc.constantFrom(...LOCALES, 'fr', 'en-GB'), { minLength: 1, maxLength: 3 }),
  by: fc.constantFrom('locale', 'accept-language'),
});

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.close());

test('reads show each text in the best language, however and as often as they are asked', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 12 }), async (steps) => {
      const run = await Run.start(await harness.newShop());
      for (const each of steps) await run.take(each);
    }),
    { ...cases(2, 100), endOnFailure: true },
  );
  expect((await verifyDocuments(harness, 'live')).differences).toEqual([]);
});

class Run {
  private readonly model = new Model();
  private listing_id = '';

  private constructor(private readonly shop: Shop) {}

  static async start(shop: Shop): Promise<Run> {
    const run = new Run(shop);
    await run.setLocales(['es', 'de']);
    run.listing_id = (await run.write('POST', '/api/listing', { name: 'Bebidas' })).body.data.id;
    for (const title of ['Té', 'Mate', 'Café']) {
      const own = { title, description: `${title} verde` };
      const body = { ...own, price_currency: 'PEN', price_amount: 1, listing_id: run.listing_id };
      const { id } = (await run.write('POST', '/api/publication', body)).body.data;
      run.model.products.set(id, { own, translations: {} });
    }
    return run;
  }

  private write(method: string, path: string, body: object) {
    return harness.request(method, path, { token: this.shop.secret.token, body });
  }

  private read(path: string, { asked, by }: Pick<Step, 'asked' | 'by'>) {
    const locale = by === 'locale' ? `${path.includes('?') ? '&' : '?'}locale=${asked[0]}` : '';
    const headers = by === 'locale' ? {} : { 'accept-language': asked.join(', ') };
    return harness.request('GET', path + locale, { token: this.shop.public.token, headers });
  }

  /** Sets the locales, and waits until reads by id know each of them, which they do within a second. */
  private async setLocales(locales: string[]): Promise<void> {
    expect((await this.write('PATCH', '/api/store', { locales })).status).toBe(200);
    this.model.locales = locales;
    for (const tag of [...LOCALES, 'fr'])
      await waitFor(async () => {
        const path = this.listing_id === '' ? '/api/store' : `/api/listing/${this.listing_id}`;
        const { headers } = await this.read(path, { asked: [tag], by: 'locale' });
        return headers.get('content-language') === this.model.contentLanguage(this.model.localeFor([tag]));
      });
  }

  async take({ locales, product, locale, patch, asked, by }: Step): Promise<void> {
    if (locales) await this.setLocales(locales);
    const id = [...this.model.products.keys()][product]!;
    const { status } = await this.write('PATCH', `/api/publication/${id}`, {
      translations: { [locale]: patch },
    });
    expect(status).toBe(this.model.translate(id, locale, patch) ? 200 : 400);
    const chosen = this.model.localeFor(by === 'locale' ? asked.slice(0, 1) : asked);
    // The second time, the edge cache may answer.
    for (const _ of [1, 2]) await this.compare(id, chosen, { asked, by });
  }

  private async compare(id: string, chosen: string, asked: Pick<Step, 'asked' | 'by'>): Promise<void> {
    const textsIn = (items: readonly { id: string; title: string; description: string }[]) =>
      Object.fromEntries(items.map(({ id, title, description }) => [id, { title, description }]));
    const all = Object.fromEntries(
      [...this.model.products.keys()].map((id) => [id, this.model.textsOf(id, chosen)]),
    );
    const one = await this.read(`/api/publication/${id}`, asked);
    expect(textsIn([one.body.data])).toEqual({ [id]: all[id] });
    expect(one.headers.get('content-language')).toBe(this.model.contentLanguage(chosen));
    expect(one.body.data).not.toHaveProperty('translations');
    const list = (await this.read('/api/publications?sort=name', asked)).body.data;
    expect(textsIn(list)).toEqual(all);
    expect(list.map((one: { id: string }) => one.id)).toEqual(this.model.byName(chosen));
    const listing = (await this.read(`/api/listing/${this.listing_id}?expand=publication`, asked)).body.data;
    expect(textsIn(listing.publications.data)).toEqual(all);
    const placed = (await this.read(`/api/listing/${this.listing_id}/publications`, asked)).body.data;
    expect(textsIn(placed.others)).toEqual(all);
    const found = (await this.read('/api/store/search?q=verde', asked)).body.data;
    expect(textsIn(found)).toEqual(all);
  }
}
