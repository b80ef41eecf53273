import type { Store } from 'catalog-client';
import { derivedAmount, PERCENT_DECIMALS } from '../../../../../../shared/catalog/amounts';
import { formatMoney } from '../../lib/format';
import { useLanguageNames } from '../../lib/languages';
import { useLocale, useTexts } from '../../texts/texts';
import { Button, IconButton } from '../../ui/button';
import { NumberField, Select, Switch, TagsField, TextField } from '../../ui/fields';
import { FieldRow } from '../../ui/layout';
import { COUNTRIES } from './codes-field';

type Market = NonNullable<Store['markets']>[number];

interface MarketsFieldProps {
  readonly value: readonly Market[];
  /** Of the store. The first currency is the base. */
  readonly currencies: readonly string[];
  readonly locales: readonly string[];
  readonly faults: Readonly<Record<string, string>>;
  readonly isDisabled: boolean;
  readonly onChange: (markets: Market[]) => void;
}

/** The markets of the store: countries with a currency and languages. */
export function MarketsField({
  value,
  currencies,
  locales,
  faults,
  isDisabled,
  onChange,
}: MarketsFieldProps) {
  const t = useTexts();
  const locale = useLocale();
  const languageOf = useLanguageNames();
  const countries = new Intl.DisplayNames(locale, { type: 'region' });
  const [base = ''] = currencies;
  return (
    <>
      {value.map((market, place) => {
        const { handle, currency, derived } = market;
        const replace = (next: Market) => onChange(value.with(place, next));
        const set = (change: Partial<Market>) => replace({ ...market, ...change });
        const { derived: _, ...underived } = market;
        const field = (name: keyof Market) => ({
          label: t.markets[name],
          isDisabled,
          fault: Object.entries(faults).find(([each]) => each.startsWith(`markets.${place}.${name}`))?.[1],
        });
        const derive = (change: Partial<NonNullable<Market['derived']>>) =>
          set({ derived: { percent: 100, ending: null, ...derived, ...change } });
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: A market has no id, and its handle is typed.
          <fieldset key={place} className="stack market" aria-label={handle || t.markets.new}>
            <FieldRow>
              <TextField {...field('handle')} value={handle} onChange={(text) => set({ handle: text })} />
              <Select
                {...field('currency')}
                value={currency}
                options={currencies.map((id) => ({ id, label: id }))}
                onChange={(id) => replace({ ...(id === base ? underived : market), currency: id })}
              />
            </FieldRow>
            <TagsField
              {...field('countries')}
              value={market.countries}
              suggestions={COUNTRIES}
              nameOf={(code) => countries.of(code) ?? code}
              onChange={(codes) => set({ countries: codes })}
            />
            {locales.length > 1 && (
              <TagsField
                {...field('locales')}
                hint={t.markets.localesHint}
                value={market.locales ?? []}
                suggestions={locales}
                nameOf={languageOf}
                onChange={(codes) => {
                  const { locales: _, ...others } = market;
                  replace(codes.length > 0 ? { ...others, locales: codes } : others);
                }}
              />
            )}
            {currency !== base && (
              <Switch
                isSelected={!!derived}
                isDisabled={isDisabled}
                onChange={(is_on) => (is_on ? derive({}) : replace(underived))}
              >
                {t.markets.derive(base)}
              </Switch>
            )}
            {derived && (
              <FieldRow>
                <NumberField
                  {...field('derived')}
                  hint={t.markets.derivedHint}
                  end="%"
                  decimals={PERCENT_DECIMALS}
                  value={derived.percent}
                  onChange={(percent) => derive({ percent: percent ?? 0 })}
                />
                <NumberField
                  label={t.markets.ending}
                  hint={t.markets.endingHint}
                  isDisabled={isDisabled}
                  value={derived.ending}
                  onChange={(ending) => derive({ ending })}
                />
              </FieldRow>
            )}
            <div className="row spread">
              <span className="muted number" role="status">
                {derived &&
                  `${formatMoney(EXAMPLE, base, locale)} → ${formatMoney(derivedAmount(EXAMPLE, derived, currency), currency, locale)}`}
              </span>
              <IconButton
                icon="trash"
                label={t.common.removeNamed(handle || t.markets.new)}
                isDisabled={isDisabled}
                onPress={() => onChange(value.filter((each) => each !== market))}
              />
            </div>
          </fieldset>
        );
      })}
      <div>
        <Button
          icon="plus"
          isDisabled={isDisabled}
          onPress={() => onChange([...value, { handle: '', currency: currencies.at(-1)!, countries: [] }])}
        >
          {t.markets.add}
        </Button>
      </div>
    </>
  );
}

/** The price of the preview: 100 in the base currency. */
const EXAMPLE = 10_000;
