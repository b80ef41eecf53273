import {
  type Harness,
  type HarnessOptions,
  type Reply,
  type RequestOptions,
  type Shop,
  startHarness,
} from '../support/harness';

/** The service of a test file, and a shop that only the running test has. */
export class OwnShop {
  harness!: Harness;
  shop!: Shop;

  /** Sends a request with the shop's secret key. */
  readonly send = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
    this.harness.request(method, path, { token: this.shop.secret.token, ...options });
}

/** Starts the service before the tests of a file or block, gives each test a shop of its own, and closes the service. */
export function ownShop(options?: HarnessOptions): OwnShop {
  const own = new OwnShop();
  beforeAll(async () => {
    own.harness = await startHarness(options);
  });
  beforeEach(async () => {
    own.shop = await own.harness.newShop();
  });
  afterAll(() => own.harness?.close());
  return own;
}
