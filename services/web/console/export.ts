import { CatalogApiError } from '../../../shared/client';
import { headerOf, ownAddress } from '../../../shared/http/request';
import type { Page } from './visit';

/** Sends the catalog as the interface exports it, with the same rules and limits. */
export const exportCatalog: Page = async ({ query, req, fetchApi }) => {
  const parameters = new URLSearchParams(query);
  parameters.set(
    'base_url',
    ownAddress((name) => headerOf(req, name)),
  );
  const answer = await fetchApi(`/api/export?${parameters}`);
  if (!answer.ok) throw new CatalogApiError(answer.status, answer.headers, await answer.json());
  const { headers, body } = answer;
  return {
    file: {
      data: null,
      reply: {
        status: 200,
        headers: {
          'Cache-Control': 'no-store',
          'Content-Disposition': headers.get('content-disposition')!,
          'Content-Type': headers.get('content-type')!,
        },
        ...(body && { body }),
      },
    },
  };
};
