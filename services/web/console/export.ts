import { CatalogApiError } from '../../../shared/client';
import { addressOf } from './frame';
import type { Page } from './session';

const FILES = { jsonl: 'catalog.jsonl', shopify: 'products.csv' } as const;

/** Sends the catalog as the interface exports it, with the same rules and limits. */
export const exportCatalog: Page = async ({ query, req, fetchApi }) => {
  const format = query.get('format') === 'shopify' ? 'shopify' : 'jsonl';
  const parameters = new URLSearchParams({ format, base_url: addressOf(req) });
  const { ok, status, headers, body } = await fetchApi(`/api/export?${parameters}`);
  if (!ok || !body) throw new CatalogApiError(status, headers, body && (await new Response(body).json()));
  return {
    file: {
      data: null,
      headers: {
        'Cache-Control': 'no-store',
        'Content-Disposition': `attachment; filename="${FILES[format]}"`,
      },
      stream: { content_type: headers.get('content-type')!, bytes: body },
    },
  };
};
