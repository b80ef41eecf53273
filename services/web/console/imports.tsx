import { formatAmount } from '../../../shared/catalog/amounts';
import { isCurrency, withCommas } from '../../../shared/catalog/input-rules';
import { receiveForm } from '../../../shared/http/upload';
import { IMPORT_FORMATS, type ImportFormat } from '../../import/into-store';
import type { RowNote } from '../../import/item';
import {
  IMPORT_ROWS_MAX,
  type ImportJob,
  type ImportJobs,
  type ImportSettings,
  type ImportStep,
  STEPS,
} from '../../import/jobs';
import {
  COUNTS,
  type Count,
  type ImportReport,
  KINDS,
  type Kind,
  type PublicationPreview,
} from '../../import/report';
import { DEFAULT_CURRENCY } from '../../import/writer';
import { InvalidText, PRODUCT_FIELDS } from './fields';
import { messagePage } from './frame';
import { Button, Select, Submit, secondOf, Table, WideTable } from './parts';
import { type Page, unlessInvalid } from './visit';

const HOME = '/console/imports';
/** Larger files are for the command line. */
const FILE_BYTES_MAX = 50_000_000;
/** The permissions that an import needs. */
const PERMISSIONS = ['write:publications', 'write:listings', 'write:media', 'write:reviews'] as const;

const FORMATS: Readonly<Record<ImportFormat, string>> = {
  shopify: 'Products of a Shopify export (CSV)',
  prices: 'Prices and stock by SKU, barcode, external id or handle (CSV)',
  jsonl: 'Products, listings and reviews (JSON Lines)',
};
const FORMAT_OPTIONS = [
  ['', 'Detect automatically'],
  ...IMPORT_FORMATS.map((format) => [format, FORMATS[format]] as const),
] as const;
const STEP_NAMES: Readonly<Record<ImportStep, string>> = {
  preview: 'Preview',
  import: 'Import',
  undo: 'Undo',
};

/** The pages of imports: the list, the form that uploads a file, and an import with the form for its next step. */
export function importPages(
  jobs: ImportJobs,
): Readonly<Record<'list' | 'upload' | 'show' | 'startStep', Page>> {
  const list: Page = async ({ principal, store }) => ({
    title: 'Imports',
    body: <Imports jobs={await jobs.list(principal.stores[0]!)} currency={store.currency} />,
  });
  return {
    list: guarded(list),
    upload: guarded(
      unlessInvalid(list, async ({ req, principal }) => {
        const run = await jobs.create(principal, async (storeFile) => {
          const keep = async (bytes: AsyncIterable<Uint8Array>, name: string): Promise<string> => {
            await storeFile(bytes);
            return name || 'file';
          };
          const { fields, files } = await receiveForm(req, { bytes_max: FILE_BYTES_MAX, keep });
          if (files[0] === undefined) throw new InvalidText('file', 'Choose a file.');
          return { file: files[0], ...settingsOf(fields) };
        });
        return { location: `/console/import/${run}` };
      }),
    ),
    show: guarded(async ({ principal, id }) => {
      const job = await jobs.get(principal.stores[0]!, id);
      if (!job) return NOT_KEPT;
      return { title: 'Imports', body: <Import job={job} />, refreshes: job.status === 'running' };
    }),
    startStep: guarded(async ({ principal, id, form }) => {
      const step = STEPS.find((each) => each === form.get('step')) ?? 'preview';
      if (!(await jobs.get(principal.stores[0]!, id))) return NOT_KEPT;
      const is_started = await jobs.startStep(principal, id, step);
      const saved = is_started ? {} : { saved: 'Not started, because another import of the store runs.' };
      return { location: `/console/import/${id}`, ...saved };
    }),
  };
}

const guarded =
  (page: Page): Page =>
  async (visit) => {
    const missing = PERMISSIONS.filter((each) => !visit.principal.permissions.includes(each));
    if (missing.length === 0) return page(visit);
    const hint = `The key of the session lacks the permissions ${missing.join(', ')}.`;
    return messagePage('Imports', 403, { heading: 'Not allowed', hint });
  };

function settingsOf(fields: URLSearchParams): Omit<ImportSettings, 'file'> {
  const code = fields.get('currency')?.trim().toUpperCase() ?? '';
  if (code !== '' && !isCurrency(code)) throw new InvalidText('currency', `There is no currency ${code}.`);
  return {
    format: IMPORT_FORMATS.find((each) => each === fields.get('format')),
    ...(code !== '' && { currency: code }),
    overwrite: fields.get('overwrite') === 'on',
    images: fields.get('images') === 'on' ? 'public' : 'skip',
  };
}

const NOT_KEPT = messagePage('Imports', 404, {
  heading: 'Not found',
  hint: 'Files are kept for 7 days.',
  back: [HOME, 'Imports'],
});

interface ImportsProps {
  readonly jobs: readonly ImportJob[];
  /** The currency of the store, if it has one. */
  readonly currency: string | undefined;
}

function Imports({ jobs, currency = DEFAULT_CURRENCY }: ImportsProps) {
  return (
    <>
      <h1>Imports</h1>
      <form class="panel" method="post" enctype="multipart/form-data">
        <h2>New import</h2>
        <p class="note">
          You see what changes before anything does. Importing a file again makes no duplicates. A file has at
          most {FILE_BYTES_MAX / 1_000_000} MB and {withCommas(IMPORT_ROWS_MAX)} rows. Larger ones are for the
          command line.
        </p>
        <div class="fields">
          <label>
            <span>Content</span>
            <Select name="format" options={FORMAT_OPTIONS} />
          </label>
          <label>
            <span>
              Currency <small>{`of prices without one; default for new products: ${currency}`}</small>
            </span>
            <input name="currency" maxLength={3} />
          </label>
          <label>
            <span>File</span>
            <input name="file" type="file" accept=".csv,.jsonl,.txt" required />
          </label>
        </div>
        <p>
          <label>
            <input type="checkbox" name="images" checked /> Fetch the pictures from their addresses
          </label>
          <label>
            <input type="checkbox" name="overwrite" /> Overwrite what was changed by hand
          </label>
        </p>
        <Submit label="Preview" />
      </form>
      <p>
        Download the catalog: <a href="/console/export?format=jsonl">products and listings (JSON Lines)</a>,{' '}
        <a href="/console/export?format=shopify">products for Shopify (CSV)</a>,{' '}
        <a href="/console/export?format=shopify&bom=true&escape_formulas=true">products for Excel (CSV)</a>
      </p>
      {jobs.length > 0 && (
        <Table
          class="rows"
          columns={['File', 'When', 'Last step']}
          rows={jobs.map(({ run, file, created_at, step, status }) => [
            <a key="file" href={`/console/import/${run}`}>
              {file}
            </a>,
            secondOf(created_at),
            `${STEP_NAMES[step]}: ${status}`,
          ])}
        />
      )}
    </>
  );
}

function Import({ job }: { job: ImportJob }) {
  const { run, file, step, status, done, total, error, report, undone } = job;
  const is_running = status === 'running';
  return (
    <>
      <h1>{file}</h1>
      <p class={status === 'failed' ? 'bad' : 'note'}>
        {`${STEP_NAMES[step]}: ${status}${is_running && total > 0 ? `, ${done} of ${total}` : ''}`}
      </p>
      {is_running && (total > 0 ? <progress max={total} value={done} /> : <progress />)}
      {error && <p class="message bad">{error}</p>}
      {undone && (
        <p class="message">
          {`Undone: ${undone.deleted} products deleted, ${undone.reverted} returned to their earlier values.`}
        </p>
      )}
      {undone && (
        <Rows
          heading="Products that stay as they are"
          columns={['Product', 'Reason']}
          rows={undone.kept.map(({ title, reason }) => [title, reason])}
        />
      )}
      {report && <Report report={report} />}
      {!is_running && (
        <div class="tags">
          {nextSteps(job).map((next) => (
            <Button
              key={next}
              action={`/console/import/${run}`}
              label={LABELS[next]}
              values={{ step: next }}
              is_main={next !== 'undo'}
            />
          ))}
          <a href={HOME}>Imports</a>
        </div>
      )}
    </>
  );
}

const LABELS: Readonly<Record<ImportStep, string>> = {
  preview: 'Preview again',
  import: 'Import',
  undo: 'Undo the import',
};

/** Returns the steps that a merchant may want after the last one. */
function nextSteps({ step, status, report }: ImportJob): ImportStep[] {
  const is_done = status === 'done';
  const { preview = [] } = report ?? {};
  const has_news =
    preview.length > 0 || (report && KINDS.some((kind) => report[kind].created + report[kind].updated > 0));
  if (step === 'preview') return is_done ? (has_news ? ['import'] : []) : ['preview'];
  if (step === 'undo') return is_done ? ['preview'] : ['undo'];
  return is_done ? ['undo'] : ['import', 'undo'];
}

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  listings: 'Listings',
  publications: 'Products',
  reviews: 'Reviews',
  media: 'Pictures',
};
const COUNT_NAMES: Readonly<Record<Count, string>> = {
  created: 'New',
  updated: 'Changed',
  unchanged: 'As before',
  failed: 'Failed',
};

/** Fields of an import that the forms of the console do not have, or under another name. */
const FIELD_LABELS = new Map([
  ...PRODUCT_FIELDS.map(({ name, label }) => [name, label] as const),
  ...([
    ['listing', 'Listing'],
    ['description', 'Description as text'],
    ['variants', 'Variants'],
    ['options', 'Options'],
    ['images', 'Pictures'],
    ['images.alt', 'Texts of the pictures'],
    ['seo', 'Texts for search engines'],
  ] as const),
]);

const labelsOf = (fields: readonly string[]): string =>
  fields.map((field) => FIELD_LABELS.get(field) ?? field).join(', ');

const priceOf = ({ price }: PublicationPreview): string =>
  price ? formatAmount('en', price.amount, price.currency) : 'none';

const eventOf = ({ outcome, fields }: PublicationPreview): string =>
  outcome === 'created' ? 'Will be created' : `Will change: ${labelsOf(fields)}`;

function Report({ report }: { report: ImportReport }) {
  // Reports of an earlier release have no lists of these.
  const { preview = [], unread = [], publications, currency } = report;
  const changed = report.dry_run ? publications.created + publications.updated : 0;
  return (
    <>
      {unread.map(({ from_line, to_line }) => (
        <p key={from_line} class="message bad">
          {to_line === null
            ? `Nothing was read from line ${from_line} on.`
            : `Lines ${from_line} to ${to_line} were not read.`}
        </p>
      ))}
      <WideTable
        columns={[
          report.dry_run ? 'What the import will do' : 'What the import did',
          ...COUNTS.map((count) => ({ label: COUNT_NAMES[count], is_number: true })),
        ]}
        rows={KINDS.map((kind) => [KIND_NAMES[kind], ...COUNTS.map((count) => report[kind][count])])}
      />
      <Rows
        heading="Products"
        columns={['Line', 'Product', 'Price', 'What will happen']}
        rows={preview.map((each) => [each.line, each.title, priceOf(each), eventOf(each)])}
      />
      {currency && preview.length > 0 && (
        <p class="note">{`New products without a currency get ${currency}.`}</p>
      )}
      {preview.length < changed && (
        <p class="note">{`These are the first ${preview.length} of ${withCommas(changed)} products.`}</p>
      )}
      <Rows heading="Rows that fail" columns={ROW} rows={report.failed.map(toRow)} />
      <Rows heading="Rows that are imported with changes" columns={ROW} rows={report.warnings.map(toRow)} />
      <Rows
        heading="Kept, because they were changed by hand"
        columns={['Line', 'Item', 'Fields']}
        rows={report.kept.map(({ line, external_id, fields }) => [line, external_id, labelsOf(fields)])}
      />
      <Rows
        heading="Columns that are not stored"
        columns={['Column', 'Rows with a value']}
        rows={Object.entries(report.unused_columns)}
      />
    </>
  );
}

const ROW = ['Line', 'Item', 'Reason'] as const;
const toRow = ({ line, external_id, reason }: RowNote) => [line, external_id, reason];

interface RowsProps {
  readonly heading: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

const Rows = ({ heading, ...table }: RowsProps) =>
  table.rows.length > 0 && (
    <section>
      <h2>{heading}</h2>
      <WideTable class="rows" {...table} />
    </section>
  );
