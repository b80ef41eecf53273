import type { DeletedImport, Import, ImportRow, NewImport } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, BodyOf, QueryOf } from './operations.js';
import type { ListOptions, ReadOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** How to import a file. */
export interface ImportFields extends Pick<NewImport, 'format' | 'currency' | 'images' | 'store_id'> {
  readonly overwrite?: boolean | undefined;
  /** Names of columns of the file, each with the known column that it is used as. Null: the column is not read. */
  readonly columns?: Readonly<Record<string, string | null>> | undefined;
}

/** Imports: files of products, listings, reviews or prices. */
export class ImportCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Uploads a file of at most 50 MB and starts its preview, which changes nothing.
   *
   * @param file In a browser, the `File` of an input. In Node.js, `new File([await readFile(path)], 'products.csv')`.
   * @example
   * let { id, status } = await client.imports.create(file, { currency: 'PEN' });
   * while (status === 'running') ({ status } = await client.imports.get(id));
   * await client.imports.start(id);
   */
  create(file: Blob, fields: ImportFields = {}, options: WriteOptions = {}): Promise<Import> {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields))
      if (value !== undefined) body.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    body.set('file', file);
    return this.calls.write('createImport', { body }, options);
  }

  /** Lists the last imports of the store, newest first. */
  list(
    query: QueryOf<'listImports'> = {},
    options: ListOptions = {},
  ): Pages<Import, AnswerOf<'listImports'>> {
    return listOf((page) => this.calls.page('listImports', { query: page }, options), query);
  }

  /** Returns an import: how far its step is, and the report of the last one. */
  get(id: string, options: ReadOptions<Import> = {}): Promise<Import> {
    return this.calls.read('getImport', { id }, options);
  }

  /**
   * Starts the preview again, with other settings if there are some.
   *
   * @example
   * await client.imports.preview(id, { columns: { Precio: 'Variant Price' } });
   */
  preview(id: string, body: BodyOf<'previewImport'> = {}, options: WriteOptions = {}): Promise<Import> {
    return this.calls.write('previewImport', { id, body }, options);
  }

  /** Starts the import, after a preview. */
  start(id: string, options: WriteOptions = {}): Promise<Import> {
    return this.calls.write('startImport', { id }, options);
  }

  /** Starts to undo the import, for the publications that nobody has changed since. */
  undo(id: string, options: WriteOptions = {}): Promise<Import> {
    return this.calls.write('undoImport', { id }, options);
  }

  /** Deletes the file and its report. What was imported stays. */
  delete(id: string, options: WriteOptions = {}): Promise<DeletedImport> {
    return this.calls.write('deleteImport', { id }, options);
  }

  /**
   * Lists the rows of the report.
   *
   * @example
   * for await (const { line, reason } of client.imports.rows(id, { outcome: 'failed' })) console.log(line, reason);
   */
  rows(
    id: string,
    query: QueryOf<'listImportRows'> = {},
    options: ListOptions = {},
  ): Pages<ImportRow, AnswerOf<'listImportRows'>> {
    return listOf((page) => this.calls.page('listImportRows', { id, query: page }, options), query);
  }
}
