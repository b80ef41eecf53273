import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import type { Import, ImportRow } from 'catalog-client';
import { useSearchParams } from 'wouter';
import { useApi } from '../../lib/api';
import { csvOf, saveFile } from '../../lib/download';
import { formatAmount, formatMoney, formatNumber } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, Banner, EmptyState, ErrorState, Loading, sayError, type Tone } from '../../ui/feedback';
import { Card, Facts, Tabs } from '../../ui/layout';
import { LoadMore } from '../../ui/load-more';
import { Table } from '../../ui/table';
import { StepProgress } from './state';

type ImportReport = NonNullable<Import['report']>;
type Outcome = ImportRow['outcome'];

const OUTCOMES = ['created', 'updated', 'failed', 'warning', 'kept'] as const;
const KINDS = ['publications', 'listings', 'reviews', 'media'] as const;
const COUNTS = ['created', 'updated', 'unchanged', 'failed'] as const;
const TONES: Readonly<Record<Outcome, Tone>> = {
  created: 'good',
  updated: 'info',
  failed: 'bad',
  warning: 'warn',
  kept: 'neutral',
};
const PAGE_SIZE = 50;
/** Rows that one request of a download reads: the most that the service returns. */
const DOWNLOAD_SIZE = 1_000;
/** The most rows of an outcome that the service lists. */
const LISTED_MAX = 10_000;

interface ReportProps {
  readonly of: Import;
  readonly report: ImportReport;
  /** How far a new preview is that replaces the report. */
  readonly following?: Import['progress'];
}

/** What an import would do or has done: counts, rows by outcome, and what was not read or stored. */
export function Report({ of, report, following }: ReportProps) {
  const t = useTexts();
  const locale = useLocale();
  const [search, setSearch] = useSearchParams();
  const outcome = OUTCOMES.find((each) => each === search.get('outcome') && report.rows[each] > 0);
  const is_price_list = of.detected?.format === 'prices';
  const expected = is_price_list ? t.imports.pricesWillHappen : t.imports.willHappen;
  const total = OUTCOMES.reduce((sum, each) => sum + report.rows[each], 0);
  const not_stored = Object.entries(report.unused_columns);
  const label = (id: 'all' | Outcome, count: number) => (
    <>
      {t.imports.outcomes[id]} <span className="muted">{formatNumber(count, locale)}</span>
    </>
  );
  return (
    <div className="stack" aria-busy={following !== undefined}>
      {report.unread.length > 0 && (
        <Banner tone="bad">
          {report.unread.map(({ from_line, to_line }) => (
            <p key={from_line}>{t.imports.unread(from_line, to_line)}</p>
          ))}
        </Banner>
      )}
      <Card
        title={report.dry_run ? expected : t.imports.report}
        actions={total > 0 && <DownloadReport of={of} outcome={outcome} />}
        isFlush
      >
        <div className="import-counts">
          {following ? <StepProgress step="preview" progress={following} /> : <Counts report={report} />}
        </div>
        {total > 0 && (
          <div className="report-rows">
            <Tabs
              label={t.imports.outcome}
              selected={outcome ?? 'all'}
              onSelect={(id) => setSearch(id === 'all' ? {} : { outcome: id }, { replace: true })}
              tabs={[
                { id: 'all', label: label('all', total) },
                ...OUTCOMES.filter((each) => report.rows[each] > 0).map((each) => ({
                  id: each,
                  label: label(each, report.rows[each]),
                })),
              ]}
            >
              <Rows of={of} outcome={outcome} isPriceList={is_price_list} />
            </Tabs>
            {OUTCOMES.some((each) => report.rows[each] === LISTED_MAX) && (
              <p className="muted small">{t.imports.listed}</p>
            )}
          </div>
        )}
      </Card>
      {not_stored.length > 0 && (
        <Card title={t.imports.notStored}>
          <Facts facts={not_stored.map(([name, count]) => [name, t.imports.rowsWithValue(count)])} />
        </Card>
      )}
    </div>
  );
}

/** Returns the names of the counts that are not zero, one at least. */
function shown(counts: ImportReport['publications']) {
  const some = COUNTS.filter((count) => counts[count] > 0);
  return some.length > 0 ? some : (['unchanged'] as const);
}

/** The counts of each kind that the file has. */
function Counts({ report }: { readonly report: ImportReport }) {
  const t = useTexts();
  const locale = useLocale();
  const kinds = KINDS.filter(
    (kind) => kind === 'publications' || COUNTS.some((count) => report[kind][count] > 0),
  );
  return (
    <dl>
      {kinds.map((kind) => (
        <div key={kind}>
          <dt>{t.imports.kinds[kind]}</dt>
          <dd className="row">
            {shown(report[kind]).map((count) => (
              <span key={count} className={count === 'failed' ? 'bad' : ''}>
                {t.imports.kindCounts[count](formatNumber(report[kind][count], locale))}
              </span>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface RowsProps {
  readonly of: Import;
  readonly outcome: Outcome | undefined;
  readonly isPriceList: boolean;
}

function Rows({ of: { id, settings, report }, outcome, isPriceList }: RowsProps) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    // Each report has rows of its own.
    queryKey: ['imports', 'rows', id, settings, report, outcome],
    initialPageParam: 1,
    queryFn: ({ pageParam: page }) =>
      client.imports.rows(id, { limit: PAGE_SIZE, page, ...(outcome && { outcome }) }).page(),
    getNextPageParam: ({ meta }, pages) =>
      pages.length < meta.pagination.total_pages ? pages.length + 1 : undefined,
    placeholderData: keepPreviousData,
  });
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  return (
    <>
      <Table<ImportRow>
        label={t.imports.report}
        items={data.pages.flatMap((page) => page.data)}
        nameOf={(row) => row.title ?? row.external_id ?? String(row.line)}
        columns={[
          {
            id: 'product',
            label: t.imports.product,
            cell: ({ title, external_id }) => (
              <span className="row-product">
                {title && (
                  <strong dir="auto" className="row-title">
                    {title}
                  </strong>
                )}
                {external_id && (
                  <span dir="auto" className={title ? 'muted small' : ''}>
                    {external_id}
                  </span>
                )}
              </span>
            ),
          },
          {
            id: 'outcome',
            label: t.imports.outcome,
            cell: (row) => <Badge tone={TONES[row.outcome]}>{t.imports.rowOutcomes[row.outcome]}</Badge>,
          },
          ...(isPriceList ? VALUES : (['price'] as const)).map((field) => ({
            id: field,
            label: field === 'price' ? t.imports.price : t.product.fieldNames[field],
            isNumber: true,
            cell: (row: ImportRow) =>
              field === 'price'
                ? row.price && formatMoney(row.price.amount, row.price.currency, locale)
                : changeOf(row, field, (value) => formatValue(value, row, field, t, locale)),
          })),
          {
            id: 'details',
            label: t.imports.details,
            cell: (row) => (row.changes ? '' : detailsOf(row, t, locale)),
          },
          {
            id: 'line',
            label: t.imports.line,
            isNumber: true,
            cell: ({ line }) => <span className="muted">{formatNumber(line, locale)}</span>,
          },
        ]}
        empty={<EmptyState icon="info" title={t.imports.noRows} />}
      />
      {hasNextPage && <LoadMore onReach={() => !isFetchingNextPage && fetchNextPage()} />}
    </>
  );
}

/** The values that a price list changes. */
const VALUES = ['price_amount', 'compare_at_amount', 'quantity_available'] as const;
type Value = (typeof VALUES)[number];

function formatValue(value: number | null, { price }: ImportRow, field: Value, t: Texts, locale: string) {
  if (value === null) return field === 'quantity_available' ? t.products.notTracked : t.common.none;
  return field === 'quantity_available'
    ? formatNumber(value, locale)
    : formatMoney(value, price?.currency, locale);
}

/** Shows a value before and after the import. Returns nothing if the row does not change it. */
function changeOf({ changes }: ImportRow, field: Value, format: (value: number | null) => string) {
  const change = changes?.find((each) => each.field === field);
  return (
    change && (
      <span>
        <s className="muted">{format(change.before)}</s> → {format(change.after)}
      </span>
    )
  );
}

/** Returns the fields that change or were kept, or the reason of a problem or note. */
function detailsOf(row: ImportRow, t: Texts, locale: string): string {
  const { outcome, fields = [], reason, changes } = row;
  if (reason !== undefined) return reason;
  if (changes)
    return changes
      .map(({ field, before, after }) => {
        const [from, to] = [before, after].map((value) => formatValue(value, row, field, t, locale));
        return `${t.product.fieldNames[field]}: ${from} → ${to}`;
      })
      .join(', ');
  if (fields.length === 0) return '';
  const names: Readonly<Record<string, string>> = { ...t.product.fieldNames, ...t.imports.fieldNames };
  const listed = fields.map((field) => names[field.replace(/^listing\./, '')] ?? field).join(', ');
  return outcome === 'kept' ? t.imports.keptFields(listed) : t.imports.changes(listed);
}

/** Downloads all rows, those of the chosen outcome, as CSV. */
function DownloadReport({ of, outcome }: Pick<RowsProps, 'of' | 'outcome'>) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const rows = await client.imports
        .rows(of.id, { limit: DOWNLOAD_SIZE, ...(outcome && { outcome }) })
        .all();
      const { line, outcome: result, product, details, price, currencyColumn } = t.imports;
      const header = [line, result, t.product.externalId, product, price, currencyColumn, details];
      const lines = rows.map((row) => [
        row.line,
        t.imports.rowOutcomes[row.outcome],
        row.external_id,
        row.title,
        row.price && formatAmount(row.price.amount, row.price.currency, locale),
        row.price?.currency,
        detailsOf(row, t, locale),
      ]);
      const content = new Blob([csvOf([header, ...lines])], { type: 'text/csv' });
      saveFile(content, `${of.file.replace(/\.\w+$/, '')}-${outcome ?? 'report'}.csv`);
    },
    onError: (error) => sayError(error, t),
  });
  return (
    <Button icon="download" isPending={isPending} onPress={() => mutate()}>
      {t.imports.downloadReport}
    </Button>
  );
}
