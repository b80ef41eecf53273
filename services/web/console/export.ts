import { CatalogApiError } from '../../../shared/client';
import { headerOf, ownAddress } from '../../../shared/http/request';
import type { Page } from './session';

const FILES = { jsonl: 'catalog.jsonl', shopify: 'products.csv' } as const;

/** Sends the catalog as the interface exports it, with the same rules and limits. */
export const exportCatalog: Page = async ({ query, req, fetchApi }) => {
  const format = query.get('format') === 'shopify' ? 'shopify' : 'jsonl';
  const parameters = new URLSearchParams({ format, base_url: ownAddress((name) => headerOf(req, name)) });
  const answer = await fetchApi(`/api/export?${parameters}`);
  if (!answer.ok) throw new CatalogApiError(answer.status, answer.headers, await answer.json());
  const { headers, body } = answer;
  return {
    file: {
      data: null,
      headers: {
        'Cache-Control': 'no-store',
        'Content-Disposition': `attachment; filename="${FILES[format]}"`,
      },
      stream: { content_type: headers.get('content-type')!, ...(body && { bytes: body }) },
    },
  };
};
