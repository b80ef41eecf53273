import type { Harness, Reply, RequestOptions, Shop } from '../support/harness';

/**
 * Returns functions that send requests with the shop's secret key: `send` any request, the others those about one resource,
 * such as `/api/listing`. `shopOf` is called for each request, because tests make their shop in `beforeAll`.
 */
export function merchantRequests(shopOf: () => { harness: Harness; shop: Shop }, resource = '') {
  const send = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> => {
    const { harness, shop } = shopOf();
    return harness.request(method, path, { token: shop.secret.token, ...options });
  };
  return {
    send,
    post: (body: unknown, path = resource) => send('POST', path, { body }),
    patch: (id: string, body: unknown, headers: Record<string, string> = {}) =>
      send('PATCH', `${resource}/${id}`, { body, headers }),
    get: (id: string, query = '?visibility=all') => send('GET', `${resource}/${id}${query}`),
  };
}
