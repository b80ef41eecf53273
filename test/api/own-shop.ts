import type { CatalogClient } from '../../shared/client';
import {
  type Harness,
  type HarnessOptions,
  type Reply,
  type RequestOptions,
  type Shop,
  startHarness,
} from '../support/harness';
import { waitFor } from '../support/wait-for';

/** The service of a test file, and a shop that only the running test has. */
export class OwnShop {
  harness!: Harness;
  shop!: Shop;
  /** Has the shop's secret key, and reads what it has written. */
  client!: CatalogClient;

  /** Sends a request with the shop's secret key. */
  readonly send = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
    this.harness.request(method, path, { token: this.shop.secret.token, ...options });

  /**
   * Sends a batch of puts again as a client does: a busy machine may not end it, or not begin all items, within the time of a
   * request.
   */
  readonly writeAll = (items: unknown): Promise<unknown> =>
    waitFor(async () => {
      const { status, body } = await this.send('POST', '/api/publications/batch', { body: { items } });
      return status === 200 && body.data.failed === 0;
    });
}

/** Starts the service before the tests of a file or block, gives each test a shop of its own, and closes the service. */
export function ownShop(options?: HarnessOptions): OwnShop {
  const own = new OwnShop();
  beforeAll(async () => {
    own.harness = await startHarness(options);
  });
  beforeEach(async () => {
    own.shop = await own.harness.newShop();
    own.client = own.harness.client(own.shop.secret, { consistent: true });
  });
  afterAll(() => own.harness?.close());
  return own;
}
