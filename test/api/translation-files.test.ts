import { waitFor } from '../support/wait-for';
import { workbookOf } from '../support/workbook';
import { MediaShop } from './media-shop';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const here = ownShop();
const { send } = here;
const TEA = { title: 'Té', price_currency: 'USD', price_amount: 1_250 };
const create = async (path: string, body: object) => (await send('POST', path, { body })).body.data;
const get = async (path: string) => (await send('GET', path)).body.data;

const exported = async (query = '') => {
  const { status, text, headers } = await send('GET', `/api/export?format=translations${query}`);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  return text;
};

/** Previews and imports a file. Returns the import, with its rows, after both steps. */
const steps = async (content: string | Uint8Array) => {
  const merchant = here.harness.client(here.shop.secret, { consistent: true });
  const file = new File([typeof content === 'string' ? content : new Uint8Array(content)], 'texts');
  const { id } = await merchant.imports.create(file);
  const ended = async () => {
    const job = await waitFor(async () => {
      const found = await merchant.imports.get(id);
      return found.status !== 'running' && found;
    });
    await here.harness.settled();
    return { job, rows: await merchant.imports.rows(id, { limit: 1_000 }).all() };
  };
  const preview = await ended();
  if (preview.job.status === 'failed') return { preview, imported: preview, undo: async () => preview };
  await merchant.imports.start(id);
  const imported = await ended();
  const undo = async () => {
    await merchant.imports.undo(id);
    return ended();
  };
  return { preview, imported, undo };
};

beforeEach(async () => {
  await send('PATCH', '/api/store', { body: { locales: ['es', 'de', 'id'] } });
});

test('a file of texts is written, translated and read again', async () => {
  const listing = await create('/api/listing', {
    name: 'Bebidas',
    translations: { de: { name: 'Getränke' } },
  });
  const media = await (await MediaShop.of(here.harness, here.shop)).upload({ alt: 'Una taza' });
  const product = await create('/api/publication', {
    ...{ ...TEA, description: '=1+1', description_html: '<p>Verde, "puro"\n</p>', seo: { title: 'Té' } },
    variants: [{ option_values: { 'N.º': 'a.b' } }, { option_values: { 'N.º': 'constructor' } }],
    translations: { de: { title: 'Tee', options: { 'N.º': { name: 'Nr.' } } }, id: { title: 'Teh' } },
  });
  const text = await exported('&escape_formulas=true');
  expect(text.split('\n').slice(0, 4)).toEqual([
    'type,id,handle,field,default,de,id',
    `listing,${listing.id},bebidas,name,Bebidas,Getränke,`,
    `listing,${listing.id},bebidas,handle,bebidas,,`,
    `publication,${product.id},te,title,Té,Tee,Teh`,
  ]);
  for (const row of [
    `publication,${product.id},te,description,'=1+1,,`,
    `publication,${product.id},te,description_html,"<p>Verde, ""puro""\n</p>",,`,
    `publication,${product.id},te,seo.title,Té,,`,
    `publication,${product.id},te,options.N\\.º,N.º,Nr.,`,
    `publication,${product.id},te,options.N\\.º.a\\.b,a.b,,`,
    `media,${media},,alt,Una taza,,`,
  ])
    expect(text).toContain(`${row}\n`);
  // Read as it is, it changes nothing.
  const same = await steps(text);
  expect([same.imported.rows, same.imported.job.report?.publications]).toEqual([
    [],
    { created: 0, updated: 0, unchanged: 1, failed: 0 },
  ]);
  expect(same.preview.job.detected).toMatchObject({
    format: 'translations',
    columns: ['type', 'id', 'handle', 'field', 'default', 'de', 'id'].map((name) => ({
      name,
      used_as: name,
    })),
  });

  const translated = text
    .replace('name,Bebidas,Getränke,', 'name,Bebidas,Trinken,Minuman')
    .replace("description,'=1+1,,", "description,'=1+1,'=2,Dua")
    .replace('"\n</p>",,', '"\n</p>","<p onclick=""x"">Grün</p>",')
    .replace('seo.title,Té,,', 'seo.title,Té,Tee kaufen,')
    .replace('handle,te,,', 'handle,te,tee,')
    .replace('a\\.b,a.b,,', 'a\\.b,a.b,A,')
    .replace('constructor,constructor,,', 'constructor,constructor,P,')
    .replace('alt,Una taza,,', 'alt,Una taza,Eine Tasse,');
  const { preview, imported, undo } = await steps(translated);
  expect(preview.rows).toMatchObject([{ outcome: 'updated', title: 'Té', fields: ['translations'] }]);
  expect(imported.job.report).toMatchObject({
    publications: { updated: 1 },
    listings: { updated: 1 },
    media: { updated: 1 },
    unused_columns: {},
  });
  const after = (await get(`/api/publication/${product.id}`)).translations;
  expect(after).toEqual({
    de: {
      ...{ title: 'Tee', description: '=2', description_html: '<p>Grün</p>', handle: 'tee' },
      seo: { title: 'Tee kaufen' },
      options: { 'N.º': { name: 'Nr.', values: { 'a.b': 'A', constructor: 'P' } } },
    },
    id: { title: 'Teh', description: 'Dua' },
  });
  expect((await get(`/api/listing/${listing.id}`)).translations).toEqual({
    de: { name: 'Trinken' },
    id: { name: 'Minuman' },
  });
  expect((await get(`/api/media/${media}`)).translations).toEqual({ de: { alt: 'Eine Tasse' } });
  expect((await undo()).job.undone).toMatchObject({ kept: [] });
  const undone = await waitFor(async () => {
    const { translations } = await get(`/api/publication/${product.id}`);
    return translations.id.description === undefined && translations;
  });
  expect(undone).toEqual({
    de: { title: 'Tee', handle: 'tee', options: { 'N.º': { name: 'Nr.' } } },
    id: { title: 'Teh' },
  });
  expect(await get(`/api/media/${media}`)).not.toHaveProperty('translations');
});

test('rows that cannot be written are reported, and the others are written', async () => {
  const { id } = await create('/api/publication', {
    ...{ ...TEA, description: 'Verde', vendor: 'Acme', seo: { title: 'Té' } },
  });
  await create('/api/publication', { ...TEA, translations: { de: { handle: 'tee' } } });
  const other = await here.harness.newShop();
  const options = { token: other.secret.token, body: TEA };
  const { body } = await here.harness.request('POST', '/api/publication', options);
  const { imported, preview } = await steps(
    [
      'field;Nota;type;id;default;de;fr;id',
      `seo.title;x;publication;${id};Té;${'x'.repeat(300)};Thé;`,
      `title;;publication;${id};Té;Tee;;`,
      `title;;publication;${id};Té;Mate;;`,
      `description;;publication;${id};Rojo;Rot;;`,
      `description;;publication;${id};Verde;;;Hijau`,
      `handle;;publication;${id};te;tee;;`,
      `vendor;;publication;${id};Acme;Acme;;`,
      `title;;publication;${body.data.id};Té;Tee;;`,
      `title;;store;${id};Té;Tee;;`,
      `title;;publication;te;Té;Tee;;`,
      `title;;publication;te;Té;;;`,
    ].join('\n'),
  );
  const reasons = imported.rows.flatMap(({ line, outcome, reason }) =>
    outcome === 'failed' ? [[line, reason]] : [],
  );
  expect(reasons).toEqual([
    [2, expect.stringContaining('translations.de.seo.title: must be at most 255')],
    [4, 'duplicate of line 3'],
    [5, expect.stringContaining('stale: ')],
    [7, 'translations.de.handle: must be unique in the store'],
    [8, 'the publication has no text "vendor"'],
    [9, 'The publication does not exist'],
    [10, 'type: must be publication, listing, media'],
    [11, 'id: must be a UUID'],
  ]);
  expect(preview.rows).toEqual(imported.rows);
  expect(imported.job.report?.unused_columns).toEqual({ Nota: 1, fr: 1 });
  expect((await get(`/api/publication/${id}`)).translations).toEqual({
    de: { title: 'Tee' },
    id: { description: 'Hijau' },
  });
});

test('a workbook is read as well, and a file without the columns is refused', async () => {
  const { id } = await create('/api/publication', TEA);
  const header = ['type', 'id', 'handle', 'field', 'default', 'de'];
  const book = workbookOf([[header, ['publication', id, 'te', 'title', 'Té', 'Tee']]]);
  await steps(book);
  expect((await get(`/api/publication/${id}`)).translations).toEqual({ de: { title: 'Tee' } });
  const { job } = (await steps('id,field,default,de\nx,title,Té,Tee\n')).preview;
  expect(job).toMatchObject({ status: 'failed', error: 'The header has no column "type".' });
  expectError(await send('GET', '/api/export?bom=true'), 400, 'VALIDATION_ERROR', 'bom');
});
